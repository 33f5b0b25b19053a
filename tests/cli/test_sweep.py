"""tamis sweep: tables, stores, dry runs, status, and refused arguments."""

import json
import signal
import subprocess

import pytest
from conftest import DATA, ROOT, sentence_of, tamis
from sweeps import GRID, POINTS, command, rows, start, status, sweep, until


@pytest.fixture(scope="module")
def done(tmp_path_factory):
    """An undisturbed run: its store and its report."""
    store = tmp_path_factory.mktemp("whole") / "s.sqlite"
    return store, sweep(store)


def test_a_run_says_what_it_computed(done):
    store, said = done
    assert (said["sweep"], said["points"], said["done"], said["failed"]) == (
        "fig3",
        POINTS,
        POINTS,
        0,
    )
    assert said["computed"] == POINTS and said["seconds"] > 0 and said["store"] == str(store)
    assert len(said["results"]) == POINTS
    for point in said["results"]:
        assert point["parameters"]["n"] in (32, 64, 128) and point["result"]
    assert {(r["parameters"]["n"], r["parameters"]["k"]) for r in said["results"]} == {
        (n, k) for n in (32, 64, 128) for k in (1, 2)
    }
    heading, *table = said["table"]
    assert table and all(len(row) == len(heading) for row in table)


def test_the_same_command_computes_nothing_again(done):
    store, said = done
    again = sweep(store)
    assert again["computed"] == 0
    for part in ("table", "sentences", "results", "points", "done"):
        assert again[part] == said[part]
    text = tamis(*command(store)).stdout
    assert all(sentence in text for sentence in said["sentences"])


@pytest.mark.parametrize("threads", [1, 2, 5])
def test_threads_do_not_show(done, threads, tmp_path):
    store, said = done
    other = sweep(tmp_path / "s", "--threads", threads)
    assert other["table"] == said["table"] and other["sentences"] == said["sentences"]
    assert rows(tmp_path / "s") == rows(store)


def test_a_larger_grid_computes_what_is_missing(done, tmp_path):
    store = tmp_path / "s.sqlite"
    small = [
        "sweep",
        "fig3",
        "--set",
        "n=32",
        "--set",
        "k=1",
        "--set",
        "matrices=2",
        "--set",
        "gamma=1",
    ]
    first = json.loads(tamis(*small, "--store", store, "--json").stdout)
    assert first["points"] == 4
    assert sweep(store)["computed"] == POINTS - 4
    assert rows(store) == rows(done[0])
    held = json.loads(tamis(*small, "--store", store, "--json").stdout)
    assert held["computed"] == 0 and held["results"] == first["results"]
    assert status(store)["sweeps"][0]["other_grids"] == POINTS - 4


def test_another_seed_is_another_point(tmp_path):
    args = [
        "sweep",
        "fig3",
        "--set",
        "n=32",
        "--set",
        "matrices=1",
        "--store",
        tmp_path / "s",
        "--json",
    ]
    one = json.loads(tamis(*args).stdout)
    two = json.loads(tamis(*args, "--seed", 1).stdout)
    assert two["computed"] == one["computed"] == one["points"]
    assert [r["result"] for r in one["results"]] != [r["result"] for r in two["results"]]


def test_a_dry_run_lists_points_and_writes_nothing(done, tmp_path):
    plan = sweep(tmp_path / "s", "--dry-run", "--threads", 2)
    assert list(tmp_path.iterdir()) == []
    assert (plan["points"], plan["done"], plan["missing"]) == (POINTS, 0, POINTS)
    assert len(plan["list"]) == POINTS and not plan["calibrated"]
    assert plan["core_seconds"] == pytest.approx(sum(p["guess"] for p in plan["list"]))
    assert plan["core_seconds"] * (0.5 - 1e-12) <= plan["seconds"] <= plan["core_seconds"]
    more = ["sweep", "fig3", *GRID[2:], "--set", "n=32,64,128,256", "--store", done[0], "--dry-run"]
    plan = json.loads(tamis(*more, "--json").stdout)
    assert plan["calibrated"] and plan["done"] == POINTS and plan["missing"] == 8
    assert [p["state"] for p in plan["list"]].count("done") == POINTS
    text = tamis(*more).stdout
    assert "8 to compute" in text and "after the 24 that are done" in text
    assert "Times are guesses" in tamis("sweep", "fig3", *GRID, "--dry-run").stdout


def test_a_report_tells_what_is_done_and_computes_nothing(done, tmp_path):
    store, said = done
    bytes_before = store.read_bytes()
    told = sweep(store, "--report")
    for part in ("table", "fits", "sentences", "results", "points", "done", "made_by"):
        assert told[part] == said[part]
    assert "computed" not in told and "threads" not in told
    more = ["sweep", "fig3", *GRID[2:], "--set", "n=32,64,128,256", "--store", store, "--report"]
    part = json.loads(tamis(*more, "--json").stdout)
    assert (part["points"], part["done"]) == (POINTS + 8, POINTS) and part["results"] == said[
        "results"
    ]
    assert (
        f"{POINTS} of {POINTS + 8} points done\n" in tamis(*more, "--vega", tmp_path / "v").stdout
    )
    assert json.loads((tmp_path / "v").read_text())
    assert store.read_bytes() == bytes_before
    assert "no such file" in sentence_of(tamis(*command(tmp_path / "none", "--report"), status=2))
    assert [path.name for path in tmp_path.iterdir()] == ["v"]


def test_status_counts_by_sweep(done):
    said = status(done[0])
    assert (said["points"], said["done"], said["failed"]) == (POINTS, POINTS, 0)
    (fig3,) = said["sweeps"]
    assert fig3["sweep"] == "fig3" and fig3["missing"] == 0 and fig3["core_seconds"] > 0
    assert (
        f"{POINTS} of {POINTS} points done" in tamis("sweep", "status", "--store", done[0]).stdout
    )


def test_the_chart_holds_its_data(done, tmp_path):
    tamis(*command(done[0], "--vega", tmp_path / "chart.json"))
    chart = json.loads((tmp_path / "chart.json").read_text())
    assert "vega-lite/v5" in chart["$schema"] and "values" in chart["data"]


def test_interrupted_it_keeps_what_is_done(tmp_path):
    store = tmp_path / "s.sqlite"
    run = start(
        "sweep", "fig3", "--set", "n=32,1024", "--set", "k=1", "--store", store, "--threads", 2
    )
    until(lambda: store.exists() and status(store)["points"] > 0)
    run.send_signal(signal.SIGINT)
    out, said = run.communicate(timeout=60)
    assert (run.returncode, out) == (-signal.SIGINT, "")
    assert [path.name for path in tmp_path.iterdir()] == ["s.sqlite"]  # the log was merged into it
    assert said.startswith("tamis: interrupted; ")


def test_interrupted_it_says_how_to_go_on(tmp_path):
    """The command that it suggests is run in a shell, where names need quotes."""
    (tmp_path / "it's here").mkdir()
    store = tmp_path / "it's here" / "s $(x).sqlite"
    grid = [
        "--set",
        "n=32,1024",
        "--set",
        "k=1",
        "--set",
        "gamma=1",
        "--set",
        "eps1=0.5",
        "--set",
        "matrices=1",
    ]
    for more in ([], ["--json"]):
        run = start("sweep", "fig3", *grid, "--store", store, "--threads", 1, *more)
        until(lambda: store.exists() and status(store)["points"] > 0)
        run.send_signal(signal.SIGINT)
        out, said = run.communicate(timeout=60)
        assert (run.returncode, out) == (-signal.SIGINT, "") and said.count("\n") == 1
        assert said.startswith(
            f"tamis: interrupted; what is done is kept in {store}, and the same command"
        )
        line = said.split(" goes on from there: ")[1]
        again = subprocess.run(
            ["bash", "-c", line], capture_output=True, text=True, cwd=ROOT, check=True
        )
        assert again.stderr == ""
        store.unlink()
    ended = json.loads(again.stdout)
    assert ended["done"] == ended["points"] > 0


def test_a_store_in_use_is_read_but_not_written(tmp_path):
    store = tmp_path / "s.sqlite"
    run = start("sweep", "fig3", "--set", "n=2048", "--set", "k=1", "--store", store)
    try:
        until(lambda: store.exists() and status(store)["points"] > 0)
        refused = sentence_of(tamis(*command(store), status=3))
        assert f"is being written by process {run.pid};" in refused and str(store) in refused
        assert status(store)["sweeps"][0]["sweep"] == "fig3"
        assert sweep(store, "--dry-run")["points"] == POINTS
        assert sweep(store, "--report")["done"] == 0
    finally:
        run.kill()
        run.communicate(timeout=60)
    # The kernel released the lock of the killed process.
    assert sweep(store)["done"] == POINTS


@pytest.mark.parametrize(
    ("args", "words"),
    [
        (["fig33"], "there is no 'fig33'; available: fig3"),
        ([], "NAME is required"),
        (["fig3"], "--store is missing"),
        (["status"], "--store is missing"),
        (["status", "--store", "s", "--dry-run"], "status takes --store and --json alone"),
        (
            ["fig3", "--dry-run", "--report"],
            "--dry-run says what is to be computed, --report what was",
        ),
        (["fig3", "--report"], "--store is missing"),
        (
            ["fig3", "--dry-run", "--vega", "v"],
            "--vega draws results, of which --dry-run makes none",
        ),
        (["fig3", "--set", "width=3"], "fig3 has no axis 'width'; it has n, "),
        (["fig3", "--set", "n"], "--set: 'n' has no '='"),
        (["fig3", "--set", "n=3,x"], "'x' is not a number"),
        (["fig3", "--set", "n="], "'' is not a number"),
        (
            ["fig3", "--set", "n=1"],
            "the axis n of fig3 has the value 1; it takes whole numbers from",
        ),
        (["fig3", "--set", "n=64,64"], "the value 64 twice"),
        (["fig3", "--set", "n=64", "--set", "n=32"], "the axis n of fig3 is given twice"),
        (["fig3", "--set", "gamma=nan"], "the axis gamma of fig3 has the value nan"),
        (["fig3", "--set", "matrices=1,2"], "it takes one"),
        (["fig3", "--trace", DATA], "leave the trace out"),
        (["fig3", "--seed", "-1"], "--seed: '-1' is not"),
        (["fig3", "--store", "README.md"], "README.md: is not a store of sweeps"),
        (["status", "--store", "README.md"], "README.md: is not a store of sweeps"),
        (["status", "--store", "nowhere"], "nowhere"),
        (["fig3", "--store", "src"], "src: is a directory"),
        (["fig3", "--store", "s", "--vega", "docs"], "--vega: docs: is a directory"),
    ],
)
def test_bad_usage_is_one_sentence(args, words):
    assert words in sentence_of(tamis("sweep", *args, status=2))


def test_help_lists_every_sweep_with_its_axes():
    text = " ".join(tamis("sweep", "--help").stdout.split())
    assert "fig3: " in text and "n, rows of" in text and "512,768,1024" in text
