"""tamis pattern: files that it makes and describes agree with NumPy; wrong options are named."""

import json

import numpy as np
import pytest
from conftest import DATA, exact_attention, sentence_of, tamis
from safetensors.numpy import load_file


def read_market(path):
    """Reads a coordinate file as a dense matrix."""
    lines = path.read_text().splitlines()
    assert lines[0] == "%%MatrixMarket matrix coordinate real general"
    rows, columns, count = map(int, lines[1].split())
    matrix = np.zeros((rows, columns))
    for line in lines[2:]:
        i, j, value = line.split()
        matrix[int(i) - 1, int(j) - 1] = float(value)
    assert np.count_nonzero(matrix) == count == len(lines) - 2
    return matrix


def make(tmp_path, *args):
    """Returns the written pattern as a matrix, after checking its description against it."""
    out = tmp_path / "p.mtx"
    made = json.loads(tamis("pattern", *args, "--out", out, "--json").stdout)
    matrix = read_market(out)
    ratios = [row[row > 0].max() / row[row > 0].min() for row in matrix]
    expected = {
        "rows": matrix.shape[0],
        "columns": matrix.shape[1],
        "nonzeros": np.count_nonzero(matrix),
        "k_rows": (matrix > 0).sum(axis=1).max(),
        "k_columns": (matrix > 0).sum(axis=0).max(),
        "gamma": max(ratios),
        "causal": matrix.shape[0] == matrix.shape[1] and not np.triu(matrix, 1).any(),
    }
    assert {key: made[key] for key in expected} == expected
    again = json.loads(tamis("pattern", out, "--json").stdout)
    assert {key: again[key] for key in expected} == expected
    return matrix


def test_permutations(tmp_path):
    args = ["permutations", "--n", 40, "--k", 3, "--gamma", 2.5]
    matrix = make(tmp_path, *args, "--seed", 7)
    assert (matrix > 0).sum(axis=0).max() <= 3 and set(matrix[matrix > 0]) == {1, 2.5}
    assert (make(tmp_path, *args, "--seed", 7) == matrix).all()
    assert (make(tmp_path, *args, "--seed", 8) != matrix).any()


def test_causal(tmp_path):
    matrix = make(tmp_path, "causal", "--n", 20, "--k", 3)
    assert ((matrix > 0).sum(axis=1) == np.minimum(3, np.arange(20) + 1)).all()
    assert not np.triu(matrix, 1).any()


@pytest.mark.parametrize("causal", [False, True])
def test_bands_and_blocks(tmp_path, causal):
    flag = ["--causal"] if causal else []
    i, j = np.indices((9, 9))
    seen = (j <= i) | (not causal)
    band = make(tmp_path, "banded", "--n", 9, "--reach", 2, *flag)
    assert (band == ((abs(i - j) <= 2) & seen)).all()
    block = make(tmp_path, "block", "--n", 9, "--size", 4, *flag)
    assert (block == ((i // 4 == j // 4) & seen)).all()


def test_pairs(tmp_path):
    matrix = make(tmp_path, "pairs", "--n", 5)
    assert matrix.shape == (10, 5) and (matrix.sum(axis=1) == 2).all()
    assert len({tuple(row) for row in matrix}) == 10


def test_the_heaviest_keys_of_a_real_head(tmp_path):
    matrix = make(tmp_path, "trace", "--trace", DATA, "--layer", 12, "--head", 1, "--k", 5)
    _, _, weights = exact_attention(load_file(DATA), 12, True, 0.125)
    order = np.argsort(-weights[1], axis=1, kind="stable")[:, :5]
    for row, columns in zip(matrix, order, strict=True):
        assert set(np.flatnonzero(row)) == set(columns)
    np.testing.assert_allclose(
        np.take_along_axis(matrix, order, 1), np.take_along_axis(weights[1], order, 1), rtol=1e-12
    )


def test_other_kinds_of_files_are_converted(tmp_path):
    np.save(tmp_path / "a.npy", np.array([[0, 2.0, 1.0]]))
    assert (make(tmp_path, tmp_path / "a.npy") == [[0, 2, 1]]).all()
    (tmp_path / "a.qrels").write_text("q1 0 d1 1\nq1 0 d2 0\nq2 0 d2 3\n")
    assert (make(tmp_path, tmp_path / "a.qrels") == [[1, 0], [0, 1]]).all()


def test_the_table_says_what_the_json_says():
    text = tamis("pattern", "pairs", "--n", 4).stdout
    assert "6 × 4" in text and "2 by rows, 3 by columns" in text and "causal    no" in text


USAGE = {
    "nothing": ([], "PATTERN is required"),
    "no n": (["permutations", "--k", 1], "pattern permutations needs --n; give --n, --k"),
    "an option of another kind": (
        ["pairs", "--n", 3, "--gamma", 2],
        "--gamma says nothing about pattern pairs, which takes --n",
    ),
    "options with a file": (
        [DATA, "--n", 3],
        "--n is for patterns that are made (permutations, causal",
    ),
    "k above n": (["causal", "--n", 3, "--k", 4], "k must be from 1 to n = 3"),
    "gamma below 1": (["causal", "--n", 3, "--k", 1, "--gamma", 0.5], "gamma = 0.5 was asked for"),
    "too large": (["pairs", "--n", 2**31], "of memory, so ask for a smaller one"),
    "no such layer": (
        ["trace", "--trace", DATA, "--layer", 4, "--head", 0, "--k", 1],
        "there is no layer 4; it has 3, 12, 21",
    ),
    "no such head": (
        ["trace", "--trace", DATA, "--layer", 3, "--head", 3, "--k", 1],
        "its query heads are 0 to 2",
    ),
    "no such file": (["nowhere.mtx"], "nowhere.mtx"),
    "out is the trace": (
        ["trace", "--trace", DATA, "--layer", 3, "--head", 0, "--k", 1, "--out", DATA],
        "--out",
    ),
}


@pytest.mark.parametrize("name", USAGE)
def test_bad_usage_is_one_sentence_that_names_the_fault(name):
    args, part = USAGE[name]
    assert part in sentence_of(tamis("pattern", *args, status=2))
