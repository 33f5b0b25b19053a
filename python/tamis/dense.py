"""Dense attention over arrays."""

from typing import Any

import numpy as np

from . import _tamis
from ._arguments import integer
from ._arrays import Array, like, writable_of
from ._layout import AnyArray, Layout
from .attention import ROUNDING, Attention
from .error import Error


def dense(
    caller: Any,
    q: Array,
    k: Array,
    v: Array,
    layout: Layout,
    seen: AnyArray,
    scale: float,
    threads: int,
    out: Any,
    certificates: bool,
) -> Attention:
    """Dense attention of each sequence of q, k and v, whose sizes go together. `caller` is what the
    caller gave as q, and `seen` has a number for each query of each sequence."""
    if k.dtype != v.dtype:
        raise Error(f"v holds {v.dtype}; it must hold {k.dtype}, as k does")
    threads = integer(threads, "threads", 0, 2**31 - 1)
    queries, keys, values = layout.keys(_to_f32(q)), layout.keys(k.data), layout.keys(v.data)
    sequences, heads, count, _ = queries.shape
    rows = (sequences, heads, count)
    results = _place(out, layout, (*rows, values.shape[3]), (queries, keys, values))
    lse = np.empty(rows, np.float32)
    bounds = np.empty(rows, ROUNDING) if certificates else None
    for s in range(sequences):
        _tamis.dense(
            np.ascontiguousarray(queries[s]),
            _rows(keys[s]),
            k.is_bf16,
            _rows(values[s]),
            v.is_bf16,
            scale,
            seen[s * count : (s + 1) * count],
            threads,
            results[s],
            lse[s],
            None if bounds is None else bounds[s].view(np.float64).reshape(heads, count, 3),
        )
    if out is not None and not np.may_share_memory(results, target := writable_of(out, "out").data):
        target[...] = layout.of_keys(results)
    return Attention(
        like(caller, layout.of_keys(results)) if out is None else out,
        like(caller, layout.of_keys(lse)),
        None if bounds is None else layout.of_keys(bounds),
    )


def _place(
    out: Any, layout: Layout, shape: tuple[int, ...], reads: tuple[AnyArray, ...]
) -> AnyArray:
    """Returns an array [sequence, head, query, channel] for results: `out` if they can be written
    there at once, else a new one."""
    if out is not None:
        array = writable_of(out, "out")
        layout.check(array.data, "out")
        rows = layout.keys(array.data)
        if rows.shape != shape:
            expected = list(layout.of_keys(np.broadcast_to(np.float32(0), shape)).shape)
            raise Error(f"out has the shape {list(array.data.shape)}; it must be {expected}")
        if array.dtype != "f32":
            raise Error(f"out holds {array.dtype}; for dense attention it must hold f32")
        if rows.flags.c_contiguous and not any(np.may_share_memory(rows, read) for read in reads):
            return rows
    return np.empty(shape, np.float32)


def _to_f32(array: Array) -> AnyArray:
    """Returns the numbers of `array` as f32, which represents them all."""
    if array.is_bf16:
        return (array.data.astype(np.uint32) << 16).view(np.float32)
    return array.data.astype(np.float32, copy=False)


def _rows(heads: AnyArray) -> AnyArray:
    """Returns [head, token, channel] with rows that lie apart, one after another in memory; a copy
    where they do not."""
    _, tokens, channels = heads.shape
    apart = tokens < 2 or heads.strides[1] >= channels * heads.itemsize
    together = channels < 2 or heads.strides[2] == heads.itemsize
    return heads if tokens and apart and together else np.ascontiguousarray(heads)
