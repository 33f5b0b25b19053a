"""tamis dmin: searches and estimates, their JSON, and refused arguments."""

import json

import pytest
from conftest import sentence_of, tamis


def dmin(*args):
    return json.loads(tamis("dmin", *args, "--json").stdout)


def test_a_search_reports_d_min_draws_and_p():
    found = dmin("--n", 64, "--k", 1, "--gamma", 1, "--eps1", 0.5, "--eps2", 1)
    assert found["method"] == "search" and found["d"] % 8 == 0
    assert found["d_min"] == found["d"] // 2  # columns
    (search,) = found["searches"]
    assert search["p"] == found["p"] == 1 / search["draws_at_d"]
    assert search["p_low"] < found["p"] < search["p_high"]
    # Every smaller d of the grid took all of its 64 draws.
    assert found["draws"] == 64 * (found["d"] // 8 - 1) + search["draws_at_d"]
    assert found["bound"]["vacuous"] and found["sharper_bound"]["d"] <= found["bound"]["d"]


def test_the_seed_decides_and_threads_do_not():
    def result(*args):
        found = dmin("--n", 48, "--k", 2, "--gamma", 2, "--matrices", 3, *args)
        return [(s["d_min"], s["draws"]) for s in found["searches"]]

    assert result("--threads", 1) == result("--threads", 2)
    assert result("--seed", 1) != result("--seed", 2)


def test_an_estimate_is_a_law_for_every_q():
    found = dmin("--n", 48, "--method", "estimate", "--draws", 400, "--Q", 3, "--step", 4)
    grid = [a["d"] for a in found["acceptance"]]
    assert grid == list(range(4, grid[-1] + 1, 4))
    assert found["draws"] == 400 * len(grid)
    assert [law["Q"] for law in found["laws"]] == [0.1, 0.2, 0.5, 1, 2, 3, 5]
    for a in found["acceptance"]:
        assert a["low"] <= a["p"] <= a["high"]
    medians = []
    for law in found["laws"]:
        assert sum(law["probability"]) == pytest.approx(law["at_most"][-1])
        assert all(
            low <= x <= high
            for low, x, high in zip(law["low"], law["at_most"], law["high"], strict=True)
        )
        assert law["median_low"] <= law["median"]
        medians.append(law["median"])
    assert medians == sorted(medians, reverse=True)  # more redraws never need more dimensions
    assert found["d"] == medians[5] == 2 * found["d_min"]


def test_causal_patterns_and_windows():
    found = dmin(
        "--n",
        32,
        "--k",
        2,
        "--causal",
        "--method",
        "estimate",
        "--draws",
        200,
        "--from",
        32,
        "--matrices",
        2,
    )
    assert found["causal"] and found["acceptance"][0]["d"] == 32 and len(found["matrices"]) == 2
    assert all(law["window_error"] > 0 for law in found["laws"])


def test_the_table_says_both_dimensions_and_both_bounds():
    text = tamis("dmin", "--n", 32).stdout
    assert (
        "columns (d = " in text and "bound (6)" in text and "sharper" in text and "vacuous" in text
    )
    text = tamis("dmin", "--n", 32, "--method", "estimate", "--draws", 100).stdout
    assert "median d" in text and "accepted" in text


@pytest.mark.parametrize(
    ("args", "words"),
    [
        (["--n", 0], "n must be at least 1"),
        (["--n", 8, "--k", 9], "k must be from 1 to n = 8"),
        (["--n", 8, "--gamma", 0.5], "gamma"),
        (["--n", 8, "--eps1", 1], "eps1"),
        (["--n", 8, "--eps1", 0], "eps1"),
        (["--n", 8, "--eps2", 0], "eps2"),
        (["--n", 8, "--eps2", "nan"], "eps2"),
        (["--n", 8, "--Q", 0], "Q is 0"),
        (["--n", 8, "--Q", -1], "Q is -1"),
        (["--n", 8, "--from", 24], "2n = 16"),
        (["--n", 8, "--from", 7], "multiple of the step"),
        (["--n", 8, "--step", 5], "even"),
        (["--n", 8, "--matrices", 0], "--matrices"),
        (["--n", 8, "--method", "estimate", "--draws", -1], "draws"),
        (["--n", 100000000], "65536"),
    ],
)
def test_bad_input_is_one_sentence(args, words):
    assert words in sentence_of(tamis("dmin", *args, status=2))


@pytest.mark.parametrize("seed", ["-1", "18446744073709551616", "1.5", "x"])
def test_a_seed_is_what_64_bits_hold(seed):
    done = tamis("dmin", "--n", "8", f"--seed={seed}", status=2)
    assert f"--seed: '{seed}' is not a whole number from 0 to 2^64 - 1" in sentence_of(done)
