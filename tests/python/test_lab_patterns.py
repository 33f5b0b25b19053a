"""Patterns: whatever they are made from they hold the same matrix, and rules are checked."""

import json
import math
from types import SimpleNamespace

import conftest
import numpy as np
import pytest
import tamis
from conftest import DATA, ROOT
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays

VALUES = st.just(0.0) | st.floats(2**-100, 2**100)


@given(
    arrays.arrays(np.float64, st.tuples(st.integers(1, 6), st.integers(1, 6)), elements=VALUES),
    st.randoms(use_true_random=False),
)
@settings(deadline=None)
def test_a_matrix_comes_back_from_every_form(matrix, random):
    matrix[matrix.sum(axis=1) == 0, 0] = 1
    pattern = tamis.Pattern.from_array(matrix)
    assert np.array_equal(pattern.to_array(), matrix)
    value, (row, column) = pattern.to_coo()
    order = list(range(len(value)))
    random.shuffle(order)
    triple = (value[order], (row[order], column[order]))
    assert tamis.Pattern.from_array(triple, shape=matrix.shape) == pattern
    coo = SimpleNamespace(data=value[order], row=row[order], col=column[order], shape=matrix.shape)
    sparse = SimpleNamespace(tocoo=lambda: coo)
    assert tamis.Pattern.from_array(sparse) == pattern
    assert pattern.nonzeros == np.count_nonzero(matrix)
    assert pattern.k_rows == np.count_nonzero(matrix, axis=1).max()
    assert pattern.k_columns == np.count_nonzero(matrix, axis=0).max()
    assert pattern.k == max(pattern.k_rows, pattern.k_columns)
    ratios = [line[line > 0].max() / line[line > 0].min() for line in matrix]
    assert math.isclose(pattern.gamma, max(ratios))
    square = matrix.shape[0] == matrix.shape[1]
    assert pattern.causal == (square and not np.triu(matrix, 1).any())


def test_a_matrix_of_two_rows_as_tuples_is_no_triple():
    assert np.array_equal(tamis.Pattern.from_array(((1, 0), (2, 1))).to_array(), [[1, 0], [2, 1]])


@pytest.mark.parametrize(
    "dtype", [bool, np.int8, np.uint64, np.float16, np.float32], ids=lambda dtype: dtype.__name__
)
def test_values_of_every_real_type(dtype):
    matrix = np.array([[1, 0], [1, 1]], dtype)
    assert np.array_equal(tamis.Pattern.from_array(matrix).to_array(), matrix.astype(float))


BAD = {
    "empty row": ([[1, 0], [0, 0]], "row 1 of the pattern (from 0) has no nonzero"),
    "negative": ([[1, -2]], "must be positive and finite"),
    "NaN": ([[1, math.nan]], "must be positive and finite"),
    "infinite": ([[1, math.inf]], "must be positive and finite"),
    "vector": ([1, 2], "1 axes"),
    "complex": ([[1j]], "complex128"),
    "nothing": (np.zeros((0, 3)), "at least one row"),
    "twice": ((np.ones(2), (np.zeros(2, int), np.ones(2, int))), "given twice"),
    "float places": ((np.ones(1), (np.zeros(1), np.zeros(1, int))), "integers"),
    "lengths": ((np.ones(2), (np.zeros(1, int), np.zeros(1, int))), "as long as each other"),
}


@pytest.mark.parametrize("case", BAD, ids=str)
def test_what_is_no_pattern_is_refused(case):
    matrix, sentence = BAD[case]
    with pytest.raises(tamis.Error) as error:
        tamis.Pattern.from_array(matrix)
    assert sentence in str(error.value)


def test_places_outside_the_shape_and_wrong_names_are_refused():
    place = (np.ones(1), (np.array([2]), np.array([0])))
    with pytest.raises(tamis.Error, match="outside 0 … 1"):
        tamis.Pattern.from_array(place, shape=(2, 1))
    with pytest.raises(tamis.Error, match="1 names for 2 rows"):
        tamis.Pattern.from_array(np.eye(2), row_names=["a"])


def test_patterns_go_to_the_program_and_back(tmp_path):
    pattern = tamis.permutations_pattern(40, 3, 2.5, seed=9)
    pattern.save(tmp_path / "ours.mtx")
    made = ("--n", "40", "--k", "3", "--gamma", "2.5", "--seed", "9", "--out")
    told = json.loads(
        conftest.tamis("pattern", "permutations", *made, tmp_path / "theirs.mtx", "--json").stdout
    )
    assert (tmp_path / "ours.mtx").read_bytes() == (tmp_path / "theirs.mtx").read_bytes()
    assert tamis.load_pattern(tmp_path / "theirs.mtx") == pattern
    for name in ("nonzeros", "k_rows", "k_columns", "gamma", "causal"):
        assert getattr(pattern, name) == told[name]


def test_generators_make_what_they_say():
    assert np.array_equal(
        tamis.banded_pattern(5, 1).to_array(), np.eye(5) + np.eye(5, k=1) + np.eye(5, k=-1)
    )
    assert np.array_equal(
        tamis.block_pattern(4, 2, causal=True).to_array(),
        np.tril(np.kron(np.eye(2), np.ones((2, 2)))),
    )
    pairs = tamis.pairs_pattern(4).to_array()
    assert pairs.shape == (6, 4) and (pairs.sum(axis=1) == 2).all()
    assert tamis.causal_pattern(9, 2).causal
    top = tamis.top_keys_pattern(DATA, 12, 0, 5)
    assert top.shape == (256, 8192) and top.k_rows == 5
    for call in (lambda: tamis.permutations_pattern(3, 4), lambda: tamis.pairs_pattern(1)):
        with pytest.raises(tamis.Error) as error:
            call()
        assert error.value.code == "usage"


def test_qrels_have_names(tmp_path):
    pattern = tamis.load_pattern(ROOT / "data" / "recipes.qrels")
    assert pattern.shape == (12, 11)
    assert len(pattern.row_names) == 12 and "lentil-soup" in pattern.column_names
    path = tmp_path / "some.qrels"
    path.write_text("a 0 x 1\nb 0 y 0\n")
    with pytest.raises(tamis.Error, match="b"):
        tamis.load_pattern(path)
    assert tamis.load_pattern(path, drop_empty=True).dropped == ["b"]
