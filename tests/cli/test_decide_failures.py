"""tamis decide and refutations: bad input, paths that cannot be written, time limits, Ctrl-C."""

import json
import os
import re
import shutil
import signal
import subprocess
import time
from pathlib import Path

import numpy as np
import pytest
from conftest import DATA, ROOT, digest, program, sentence_of, tamis
from refutations import refutes
from test_decide import check_witness, hadamard, random_half
from witnesses import save_pattern

HARD = random_half(64, 64, 1)
LONG = ["--time-limit", 10**6]

BAD = {
    "empty row": (np.diag([1.0, 0, 1]), [], "row 1 has no nonzero"),
    "negative entry": (np.diag([1.0, -2, 1]), [], "-2"),
    "NaN": (np.diag([1.0, np.nan, 1]), [], "nan"),
    "dimension 0": (np.eye(3), ["--dim", 0], "--dim: '0' is not a whole number from 1 on"),
    "dimension below 0": (np.eye(3), ["--dim=-1"], "--dim: '-1' is not"),
    "dimension in words": (np.eye(3), ["--dim", "two"], "--dim: 'two' is not"),
    "hidden 0": (np.eye(3), ["--hidden", 0], "--hidden: '0' is not a whole number from 1 on"),
    "hidden below the dimension": (
        np.eye(3),
        ["--dim", 3, "--hidden", 2],
        "it must be from 3 (the dimension)",
    ),
    "hidden too large": (
        np.eye(3),
        ["--hidden", 10**18],
        "hidden size 1000000000000000000 was asked for",
    ),
    "hidden of a rectangle": (np.ones((2, 3)), ["--hidden", 4], "the pattern is 2 × 3"),
    "no time": (
        np.eye(3),
        ["--time-limit", 0],
        "a time limit of 0 seconds was asked for; it must be above 0",
    ),
    "time below 0": (np.eye(3), ["--time-limit=-1"], "a time limit of -1 seconds"),
    "time NaN": (np.eye(3), ["--time-limit", "nan"], "a time limit of nan seconds"),
    "time in words": (np.eye(3), ["--time-limit", "soon"], "--time-limit = soon"),
    "seed below 0": (np.eye(3), ["--seed=-1"], "--seed: '-1' is not"),
    "two patterns": (np.eye(3), ["another.npy"], "another.npy"),
}


@pytest.mark.parametrize("name", BAD)
def test_bad_input_is_one_sentence(tmp_path, name):
    a, options, part = BAD[name]
    pattern = save_pattern(tmp_path / "a.npy", a)
    sentence = sentence_of(tamis("decide", pattern, *options, "--out", tmp_path / "w", status=2))
    assert part in sentence and len(sentence.replace(str(tmp_path), "")) < 160, sentence
    assert [p.name for p in tmp_path.iterdir()] == ["a.npy"]


def test_files_that_are_no_patterns(tmp_path):
    missing = sentence_of(tamis("decide", tmp_path / "none.mtx", status=2))
    assert missing == f"{tmp_path / 'none.mtx'}: there is no such file"
    assert "is a directory" in sentence_of(tamis("decide", tmp_path, status=2))
    for wrong in (DATA, ROOT / "README.md"):
        assert wrong.name in sentence_of(tamis("decide", wrong, status=2))
    assert "PATTERN is required" in sentence_of(tamis("decide", status=2))
    qrels = tmp_path / "a.qrels"
    qrels.write_text("q1 0 d1 1\nq2 0 d1 0\n")
    assert "'q2'" in sentence_of(tamis("decide", qrels, status=2))


@pytest.mark.parametrize("option", ["--out", "--refutation", "--problem"])
def test_places_that_cannot_be_written_are_found_before_the_work(tmp_path, option):
    pattern = save_pattern(tmp_path / "a.npy", HARD)
    before = digest(pattern)
    itself = sentence_of(
        tamis("decide", pattern, *LONG, option, tmp_path / "." / "a.npy", status=2)
    )
    assert "is the file that PATTERN reads" in itself and digest(pattern) == before
    nowhere = sentence_of(tamis("decide", pattern, *LONG, option, tmp_path / "no" / "w", status=3))
    assert nowhere.startswith(f"{option}: ") and "there is no folder" in nowhere
    assert "is a directory" in sentence_of(
        tamis("decide", pattern, *LONG, option, tmp_path, status=2)
    )
    assert [p.name for p in tmp_path.iterdir()] == ["a.npy"]


def test_a_short_time_limit_leaves_it_open_with_bounds(tmp_path):
    pattern, w, r = save_pattern(tmp_path / "a.npy", HARD), tmp_path / "w", tmp_path / "r"
    options = ["--time-limit", 0.2, "--out", w, "--refutation", r]
    said = json.loads(tamis("decide", pattern, *options, "--json").stdout)
    assert said["verdict"] == "open" and said["dim"] is None and not said["interrupted"]
    assert 2 <= said["lower"] < (said["upper"] or 65) <= 65
    assert refutes(HARD, json.loads(r.read_text()))
    if said["upper"]:
        check_witness(HARD, w, said["upper"])
    text = tamis("decide", pattern, "--time-limit", 0.2).stdout
    assert re.search(
        r"^verdict +open: (\d+ ≤ d_min ≤ \d+|d_min ≥ \d+, no witness was found)$", text, re.M
    )


@pytest.mark.parametrize("n", [2000, 20000])
def test_many_rows_do_not_outlast_the_limit_for_minutes(tmp_path, n):
    """Searches over all pairs of columns obey the clock, so the program ends before the test."""
    tamis("pattern", "block", "--n", n, "--size", 1, "--out", tmp_path / "a.mtx")
    said = json.loads(tamis("decide", tmp_path / "a.mtx", "--time-limit", 0.5, "--json").stdout)
    assert said["lower"] == 2 and (said["upper"] or 2) >= 2


def test_no_folder_for_temporary_files_costs_only_the_solvers(tmp_path):
    pattern = save_pattern(tmp_path / "a.npy", np.maximum(HARD[:12, :12], np.eye(12)))
    environment = dict(os.environ, TMPDIR=str(tmp_path / "none"))
    said = json.loads(
        tamis("decide", pattern, "--time-limit", 20, "--json", env=environment).stdout
    )
    assert said["lower"] >= 2 and said["upper"]
    if said["verdict"] == "open":
        assert "TMPDIR" in said["trials"][-1]["outcome"]


def test_ctrl_c_gives_the_bounds_so_far(tmp_path):
    pattern, w, r = save_pattern(tmp_path / "a.npy", HARD), tmp_path / "w", tmp_path / "r"
    running = subprocess.Popen(
        [
            program(),
            "decide",
            pattern,
            "--time-limit",
            "1e6",
            "--out",
            w,
            "--refutation",
            r,
            "--json",
        ],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
    time.sleep(1.5)
    running.send_signal(signal.SIGINT)
    shown, errors = running.communicate(timeout=60)
    assert running.returncode == -signal.SIGINT and errors == b""
    said = json.loads(shown)
    assert (
        said["verdict"] == "open" and said["interrupted"] and said["lower"] >= 2 and said["trials"]
    )
    assert refutes(HARD, json.loads(r.read_text())) and w.exists() == (said["upper"] is not None)
    assert {p.name for p in tmp_path.iterdir()} <= {"a.npy", "w", "r"}


@pytest.mark.skipif(not shutil.which("cadical"), reason="cadical is not installed: not run")
def test_ctrl_c_while_a_solver_runs_leaves_no_process(tmp_path):
    """Hadamard signs of size 16 keep the solver busy."""
    pattern = save_pattern(tmp_path / "a.npy", hadamard(4))
    running = subprocess.Popen(
        [program(), "decide", pattern, "--time-limit", "1e6"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env=os.environ | {"TMPDIR": str(tmp_path)},
    )
    time.sleep(2)
    children = Path(f"/proc/{running.pid}/task/{running.pid}/children").read_text().split()
    assert children
    running.send_signal(signal.SIGINT)
    shown, errors = running.communicate(timeout=60)
    assert running.returncode == -signal.SIGINT and errors == b""
    assert b"open: 4 " in shown and b"(interrupted)" in shown
    assert [p.name for p in tmp_path.iterdir()] == ["a.npy"]
    for child in children:
        with pytest.raises(ProcessLookupError):
            os.kill(int(child), 0)


def test_options_of_witnesses_are_refused_for_a_refutation(tmp_path):
    pattern, r = save_pattern(tmp_path / "a.npy", np.eye(4)), tmp_path / "r.json"
    tamis("decide", pattern, "--refutation", r)
    for option in (["--eps1", 0.1], ["--eps2", 1], ["--causal"], ["--as-claimed"]):
        sentence = sentence_of(tamis("verify", pattern, r, *option, status=2))
        assert "a refutation is of weak conditions" in sentence
    tamis("verify", pattern, r, "--weak")


def changed(**fields):
    return lambda claim: claim | fields


FILES = {
    "not JSON": (lambda claim: "{", "is not JSON"),
    "another format": (changed(format="tamis-profile"), '"format" must be "tamis-refutation"'),
    "another version": (changed(version=2), "of a version that this tamis does not read"),
    "no dimension": (lambda claim: {k: v for k, v in claim.items() if k != "dim"}, "no member dim"),
    "no grounds": (changed(grounds="because"), "grounds is 'because'; there are no such grounds"),
    "dimension in words": (changed(dim="one"), "dim must be a whole number"),
    "relations": (changed(relations=[{"a": 0}]), "no member relations[0].b"),
    "row below 0": (
        changed(relations=[{"a": -2}]),
        "relations[0].a must be a whole number, at least 0",
    ),
}


@pytest.mark.parametrize("name", FILES)
def test_files_that_are_no_refutations(tmp_path, name):
    change, part = FILES[name]
    pattern, r = save_pattern(tmp_path / "a.npy", np.eye(4)), tmp_path / "r.json"
    tamis("decide", pattern, "--refutation", r)
    bad = change(json.loads(r.read_text()))
    r.write_text(bad if isinstance(bad, str) else json.dumps(bad))
    sentence = sentence_of(tamis("verify", pattern, r, status=2))
    assert str(r) in sentence and part in sentence
