"""How the arrays of a call are laid out, and for which sequences they are.

Heads come first (`HTD`) or tokens do (`THD`), with or without an axis for sequences before them.
The engine takes keys as [sequence, head, token, channel], and queries as [query, head, channel],
where the queries of all sequences follow each other.
"""

from collections.abc import Iterable
from typing import Any

import numpy as np
import numpy.typing as npt

from ._arguments import integer, integers, word
from ._arrays import like, writable_of
from .error import Error

AnyArray = npt.NDArray[Any]
_LARGEST_NAME = 2**64 - 1


class Layout:
    """The axes that all arrays of one call have. With `batch` the first is for sequences."""

    def __init__(self, layout: str, batch: bool) -> None:
        self.heads_lead = word(layout, "layout", ("HTD", "THD")) == "HTD"
        self.batch = batch

    def check(self, array: AnyArray, name: str) -> None:
        """Raises an error unless `array` has as many axes as it must have."""
        if array.ndim == 3 + self.batch:
            return
        axes = "heads, tokens, channels" if self.heads_lead else "tokens, heads, channels"
        axes = f"sequences, {axes}" if self.batch else axes
        raise Error(f"{name} has the shape {list(array.shape)}; its axes must be [{axes}]")

    def keys(self, array: AnyArray) -> AnyArray:
        """Returns [sequence, head, token, channel] on the memory of `array`. Only sequences that
        share their memory are copied: the engine would think that they follow each other."""
        found = array if self.heads_lead else array.swapaxes(-3, -2)
        found = found if self.batch else found[np.newaxis]
        shared = found.shape[0] > 1 and found.strides[0] == 0
        return np.ascontiguousarray(found) if shared else found

    def of_keys(self, rows: AnyArray) -> AnyArray:
        """Returns `rows`, [sequence, head, token] or [sequence, head, token, channel], on the same
        memory with the axes of an array of the call."""
        found = rows if self.heads_lead else rows.swapaxes(1, 2)
        return found if self.batch else found[0]

    def queries(self, array: AnyArray) -> AnyArray:
        """Returns [query, head, channel] on the memory of `array`, or a copy where one stride does
        not lead from each query to the next, or channels do not lie side by side."""
        found = self._tokens_lead(array)
        heads, dim = found.shape[-2:]
        found = found.reshape(found.size // max(1, heads * dim), heads, dim)
        apart = dim > 1 and found.strides[-1] != found.itemsize
        return np.ascontiguousarray(found) if apart else found

    def of_queries(self, rows: AnyArray, array: AnyArray) -> AnyArray:
        """Returns `rows`, [query, head] or [query, head, channel], on the same memory with the axes
        of `array`, of which `queries` made such rows."""
        found = rows.reshape(*self._tokens_lead(array).shape[:-1], *rows.shape[2:])
        tokens = int(self.batch)
        return found.swapaxes(tokens, tokens + 1) if self.heads_lead else found

    def _tokens_lead(self, array: AnyArray) -> AnyArray:
        return array.swapaxes(-3, -2) if self.heads_lead else array


class Batch:
    """The sequences of a call. Its arrays have an axis for them, unless there is one sequence, or
    `counts` says how many tokens or queries belong to each."""

    def __init__(
        self,
        layout: str,
        sequence: int,
        sequences: Iterable[int] | None,
        counts: Iterable[int] | None,
        counted: str,
    ) -> None:
        if sequences is None and counts is not None:
            raise Error(f"{counted} is given without sequences; it has a number for each of them")
        if sequences is None:
            self.names = [name_of(sequence)]
        else:
            if name_of(sequence) != 0:
                raise Error("sequence and sequences are both given; one of them must be left out")
            self.names = integers(sequences, "sequences", 0, _LARGEST_NAME)
        self.layout = Layout(layout, sequences is not None and counts is None)
        self._counts = None if counts is None else integers(counts, counted)
        self._counted = counted
        if self._counts is not None and len(self._counts) != len(self.names):
            raise Error(
                f"{counted} has {len(self._counts)} numbers; there must be one for each of "
                f"the {len(self.names)} sequences"
            )

    def counts(self, array: AnyArray, name: str) -> list[int]:
        """Returns how many tokens or queries each sequence has of `array`, the argument `name`."""
        rows = array.shape[-2 if self.layout.heads_lead else -3]
        if self._counts is not None:
            if sum(self._counts) != rows:
                raise Error(
                    f"{name} has {rows} {self._counted}; those of all sequences together are "
                    f"{sum(self._counts)}"
                )
            return self._counts
        sequences = array.shape[0] if self.layout.batch else 1
        if sequences != len(self.names):
            raise Error(f"{name} has {sequences} sequences; {len(self.names)} are named")
        return [rows] * sequences


class Output:
    """Where a call writes its outputs: an array of the caller, or else a new one of f32. The engine
    writes into `rows`, which is a copy where it cannot write into the array itself."""

    def __init__(self, out: Any, layout: Layout, shape: tuple[int, ...], reads: AnyArray) -> None:
        if out is None:
            self._array, self.dtype = np.empty(shape, np.float32), "f32"
        else:
            self._array, self.dtype = writable_of(out, "out")
        if self._array.shape != shape:
            raise Error(f"out has the shape {list(self._array.shape)}; it must be {list(shape)}")
        self._out, self._layout = out, layout
        self.rows = layout.queries(self._array)
        if np.may_share_memory(self._array, reads):
            self.rows = np.empty(self.rows.shape, self.rows.dtype)

    def result(self, q: Any) -> Any:
        """Returns the outputs as the caller's array, or as an array of the kind that `q` is."""
        if not np.may_share_memory(self.rows, self._array):
            self._array[...] = self._layout.of_queries(self.rows, self._array)
        return like(q, self._array) if self._out is None else self._out


def name_of(sequence: Any, argument: str = "sequence") -> int:
    """Returns the name of a sequence, which must be a whole number of 64 bits."""
    return integer(sequence, argument, 0, _LARGEST_NAME)


def seen_of(seen: Any) -> npt.NDArray[np.int64]:
    """Returns how many tokens each query sees, as whole numbers one after another."""
    try:
        found = np.asarray(seen)
    except ValueError:
        raise Error(
            "seen has lists of different lengths; it must have one number per query"
        ) from None
    if found.size and found.dtype.kind not in "iu":
        raise Error(f"seen holds {found.dtype.name}; it must hold whole numbers")
    return np.ascontiguousarray(found.reshape(-1), np.int64)
