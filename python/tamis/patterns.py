"""Patterns: sparse target matrices, which attention is to produce."""

import math
import os
from collections.abc import Sequence
from typing import Any

import numpy as np

from . import _html, _plots, _tamis
from ._arguments import integer, number, path_of
from ._calls import Path, Progress, seed_of
from ._tensors import Array
from .error import Error
from .traces import Trace, load_trace


class Pattern:
    """A sparse matrix in compressed rows. Every row has at least one nonzero, and nonzeros are
    positive and finite. Only the ratios of a row's nonzeros matter.

    >>> pattern = Pattern.from_array([[1, 0], [2, 1]])
    >>> pattern.shape, pattern.nonzeros, pattern.gamma
    ((2, 2), 3, 2.0)
    """

    def __init__(self, handle: _tamis.Pattern, name: str = "") -> None:
        """Use `Pattern.from_array`, `load_pattern` or a generator such as
        `permutations_pattern`."""
        self._handle = handle
        self.name = name
        """The file that the pattern was read from, or how it was made."""
        self.k_rows: int
        """The most nonzeros of a row."""
        self.k_columns: int
        """The most nonzeros of a column."""
        self.gamma: float
        """The largest ratio of two nonzeros of a row; infinite if it is beyond f64."""
        self.causal: bool
        """Whether the pattern is square, with nothing above the diagonal."""
        self.k_rows, self.k_columns, self.gamma, self.causal = handle.figures()

    @classmethod
    def from_array(
        cls,
        array: Any,
        *,
        shape: tuple[int, int] | None = None,
        row_names: Sequence[str] = (),
        column_names: Sequence[str] = (),
        name: str = "",
    ) -> "Pattern":
        """Makes a pattern from a matrix (whatever NumPy makes an array of two axes of), from a
        sparse matrix of SciPy, or from the triple (values, (rows, columns)), for which `shape` may
        give the size. Zeros are left out. A place that is named twice is refused.
        """
        if hasattr(array, "tocoo"):
            coo = array.tocoo()
            shape = coo.shape
            value, row, column = coo.data, coo.row, coo.col
        elif _is_triple(array):
            value, (row, column) = array
        else:
            dense = np.asarray(array)
            if dense.ndim != 2:
                raise Error(f"the pattern is an array of {dense.ndim} axes; a matrix has 2")
            shape = dense.shape
            row, column = np.nonzero(dense)
            value = dense[row, column]
        handle = _from_places(value, row, column, shape, list(row_names), list(column_names))
        return cls(handle, name)

    @property
    def shape(self) -> tuple[int, int]:
        """The numbers of rows and columns."""
        return self._handle.rows, self._handle.columns

    @property
    def nonzeros(self) -> int:
        """The number of nonzeros."""
        return self._handle.nonzeros

    @property
    def k(self) -> int:
        """The most nonzeros of a row or a column, k in the paper's bound (6)."""
        return max(self.k_rows, self.k_columns)

    @property
    def row_names(self) -> list[str]:
        """The names of the rows, for qrels the topics; empty if they have none."""
        return self._handle.row_names

    @property
    def column_names(self) -> list[str]:
        """The names of the columns, for qrels the documents; empty if they have none."""
        return self._handle.column_names

    @property
    def dropped(self) -> list[str]:
        """Topics without a relevant document that were left out (`load_pattern`)."""
        return self._handle.dropped

    def to_coo(self) -> tuple[Array, tuple[Array, Array]]:
        """Returns (values, (rows, columns)), which SciPy's sparse matrices are made from."""
        counts = np.diff(self._handle.row_start)
        rows = np.repeat(np.arange(self.shape[0], dtype=np.int64), counts)
        return self._handle.value, (rows, self._handle.column)

    def to_array(self) -> Array:
        """Returns the whole matrix in f64, zeros included."""
        value, places = self.to_coo()
        array = np.zeros(self.shape)
        array[places] = value
        return array

    def save(self, path: Path) -> None:
        """Writes a Matrix Market file, in which rows and columns have no names."""
        _tamis.write_pattern(path_of(path), self._handle)

    def plot(self) -> Any:
        """Returns an Altair chart of where the nonzeros are."""
        return _plots.pattern(self)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Pattern):
            return NotImplemented
        return self.shape == other.shape and all(
            np.array_equal(getattr(self._handle, name), getattr(other._handle, name))
            for name in ("row_start", "column", "value")
        )

    __hash__ = None  # type: ignore[assignment]  # equal patterns may have different names

    def __repr__(self) -> str:
        return (
            f"Pattern({self.shape[0]} × {self.shape[1]}, {self.nonzeros} nonzeros, "
            f"k {self.k_rows} by rows and {self.k_columns} by columns, γ {self.gamma:.6g})"
        )

    def _repr_html_(self) -> str:
        rows, columns = self.shape
        return _html.facts(
            "Pattern",
            (
                ("name", self.name or None),
                ("size", f"{rows} × {columns}, {self.nonzeros} nonzeros"),
                ("k", f"{self.k_rows} by rows, {self.k_columns} by columns"),
                ("γ", f"{self.gamma:.6g}" if math.isfinite(self.gamma) else "beyond f64"),
                ("causal", "yes" if self.causal else "no"),
                ("rows", _some(self.row_names)),
                ("columns", _some(self.column_names)),
                ("dropped", _some(self.dropped)),
            ),
        )


def _is_triple(array: Any) -> bool:
    """Whether this is (values, (rows, columns)) and not a matrix of two rows as tuples."""
    if not (isinstance(array, tuple) and len(array) == 2 and isinstance(array[1], tuple)):
        return False
    return len(array[1]) == 2 and np.ndim(array[1][0]) == 1


def _some(names: list[str]) -> str | None:
    """The first names of a list, or None if it is empty."""
    shown = ", ".join(names[:8])
    return (f"{shown} and {len(names) - 8} more" if len(names) > 8 else shown) or None


def _from_places(
    value: Any,
    row: Any,
    column: Any,
    shape: tuple[int, int] | None,
    row_names: list[str],
    column_names: list[str],
) -> _tamis.Pattern:
    """Makes the module's pattern from the nonzeros in any order."""
    value, row, column = np.asarray(value), np.asarray(row), np.asarray(column)
    if value.dtype.kind not in "biuf":
        raise Error(f"the values of the pattern have type {value.dtype}; give real numbers")
    if value.ndim != 1 or value.shape != row.shape or value.shape != column.shape:
        raise Error(
            f"the pattern has {value.shape} values, {row.shape} rows and {column.shape} columns; "
            "give three arrays of one axis, as long as each other"
        )
    for name, places in (("rows", row), ("columns", column)):
        if places.size > 0 and places.dtype.kind not in "iu":
            raise Error(f"the {name} of the pattern have type {places.dtype}; give integers")
    if shape is None:
        shape = (int(row.max(initial=-1)) + 1, int(column.max(initial=-1)) + 1)
    rows, columns = (integer(side, "shape") for side in shape)
    for name, places, size in (("row", row, rows), ("column", column, columns)):
        if places.size and (places.min() < 0 or places.max() >= size):
            raise Error(f"a nonzero has a {name} outside 0 … {size - 1}, the pattern's shape")
    for name, names, size in (("row", row_names, rows), ("column", column_names, columns)):
        if names and len(names) != size:
            raise Error(f"there are {len(names)} names for {size} {name}s; give one for each")
    nonzero = value != 0
    value, row, column = value[nonzero], row[nonzero], column[nonzero]
    order = np.lexsort((column, row))
    value, row, column = value[order], row[order].astype(np.int64), column[order].astype(np.int64)
    again = np.flatnonzero((np.diff(row) == 0) & (np.diff(column) == 0))
    if again.size:
        raise Error(
            f"the nonzero at row {row[again[0]]}, column {column[again[0]]} is given twice; "
            "each may be given once",
            "input",
        )
    start = np.zeros(rows + 1, np.int64)
    np.cumsum(np.bincount(row, minlength=rows), out=start[1:])
    return _tamis.make_pattern(
        rows,
        columns,
        start,
        column,
        value.astype(np.float64),
        row_names,
        column_names,
    )


def load_pattern(
    path: Path, *, drop_empty: bool = False, progress: Progress | None = None
) -> Pattern:
    """Reads a pattern: Matrix Market (.mtx), NumPy (.npy), or TREC qrels (.qrels, .txt, .tsv), whose
    relevant documents become ones. `drop_empty` leaves out topics of qrels that have no relevant
    document; they are in `Pattern.dropped`.
    """
    return Pattern(_tamis.read_pattern(path_of(path), drop_empty, progress), os.fspath(path))


def pattern_of(given: Any) -> Pattern:
    """Returns a pattern from what calls accept as one: a `Pattern`, a path, or what
    `Pattern.from_array` takes.
    """
    if isinstance(given, Pattern):
        return given
    if isinstance(given, str | os.PathLike):
        return load_pattern(given)
    return Pattern.from_array(given)


def _random(n: int, k: int, gamma: float, seed: int) -> tuple[int, int, float, int]:
    return integer(n, "n"), integer(k, "k"), number(gamma, "gamma"), seed_of(seed)


def permutations_pattern(n: int, k: int, gamma: float = 1, seed: int = 0) -> Pattern:
    """Returns the union of k random n × n permutation matrices. Each nonzero is 1 or γ by a fair
    coin, as in the paper's experiments.
    """
    return Pattern(
        _tamis.permutations_pattern(*_random(n, k, gamma, seed)), f"{k} permutations of {n}"
    )


def causal_pattern(n: int, k: int, gamma: float = 1, seed: int = 0) -> Pattern:
    """Returns an n × n pattern with min(k, i + 1) distinct random columns j ≤ i in row i. Each
    nonzero is 1 or γ by a fair coin.
    """
    return Pattern(
        _tamis.causal_pattern(*_random(n, k, gamma, seed)), f"causal, {k} of {n} in a row"
    )


def banded_pattern(n: int, reach: int, causal: bool = False) -> Pattern:
    """Returns an n × n pattern with ones where |i − j| ≤ reach, or 0 ≤ i − j ≤ reach if causal."""
    return Pattern(
        _tamis.banded_pattern(integer(n, "n"), integer(reach, "reach"), causal),
        f"band of reach {reach}",
    )


def block_pattern(n: int, size: int, causal: bool = False) -> Pattern:
    """Returns an n × n pattern with ones where i and j are in the same block of `size` indices, and
    where also j ≤ i if causal.
    """
    return Pattern(
        _tamis.block_pattern(integer(n, "n"), integer(size, "size"), causal), f"blocks of {size}"
    )


def pairs_pattern(n: int) -> Pattern:
    """Returns one row with two ones for each of the n(n − 1)/2 pairs of n columns, as in the LIMIT
    dataset (arXiv 2508.21038).
    """
    return Pattern(_tamis.pairs_pattern(integer(n, "n")), f"pairs of {n}")


def top_keys_pattern(trace: Trace | Path, layer: int, head: int, k: int) -> Pattern:
    """Returns for each query of one head of a trace the k keys of largest weight that it sees, with
    these weights. Columns are all keys of the head.
    """
    opened = trace if isinstance(trace, Trace) else load_trace(trace)
    made = _tamis.top_keys_pattern(
        opened._handle, integer(layer, "layer"), integer(head, "head"), integer(k, "k")
    )
    return Pattern(made, f"{opened.path}, layer {layer}, head {head}, {k} heaviest keys")
