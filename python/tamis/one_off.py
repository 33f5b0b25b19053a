"""Attention over arrays, without a cache to keep."""

from typing import Any

import numpy as np
import numpy.typing as npt

from ._arguments import number
from ._arrays import array_of
from ._layout import AnyArray, Layout, seen_of
from .attention import Attention
from .cache import Cache, default_scale
from .dense import dense
from .error import Error


def attend(
    q: Any,
    k: Any,
    v: Any,
    budget: str | list[str] | None = None,
    *,
    causal: bool = False,
    seen: Any = None,
    scale: float | None = None,
    layout: str = "HTD",
    bits: int = 12,
    dtype: str | None = None,
    prefer: str = "bytes",
    look: int = 0,
    dense_below: int = 0,
    value_share: float = 0.4,
    out: Any = None,
    certificates: bool | None = None,
    threads: int = 0,
) -> Attention:
    """Attention of queries over keys and values: dense, or within a budget.

    - `q`: [query heads, queries, channels]; `k` and `v`: [KV heads, tokens, channels]. All three
      may have an axis for sequences before these; with layout "THD" heads stand after tokens. They
      may be arrays of NumPy, torch (on the CPU) and others, of f32, f16 or bf16 and any strides.
    - `budget`: None for dense attention. Otherwise the keys and values go into a cache for this
      call alone, and `budget`, `prefer`, `look`, `dense_below` and `value_share` are those of
      `Cache.attend`; `bits` and `dtype` are those of `Cache`, where None means the type of `k` and
      `v`.
    - `causal`: the last query sees every key, the query before it one key less, and so on. Or
      `seen`: how many keys each query sees. Otherwise every query sees all.
    - `scale`: logits are scale · q·k; 1/√channels if None.
    - `out`: the array that outputs are written into; a new one of f32 if None.
    - `certificates`: whether to return bounds; None means only with a budget. For dense attention
      they bound rounding (tau, error, lse_error), which takes another pass over q, k and v.
    - `threads`: how many threads work; 0 for all cores.

    >>> import numpy as np, tamis
    >>> q, k, v = np.random.default_rng(0).standard_normal((3, 4, 100, 32), dtype=np.float32)
    >>> out, bounds = tamis.attend(q, k, v, causal=True, certificates=True)
    >>> distance = np.linalg.norm(out[:, 0] - v[:, 0], axis=-1)  # the first query sees one key
    >>> bool((distance <= bounds["error"][:, 0]).all())
    True
    """
    given = {name: array_of(array, name) for name, array in (("q", q), ("k", k), ("v", v))}
    axes = Layout(layout, given["q"].data.ndim == 4)
    for name, array in given.items():
        axes.check(array.data, name)
    q_rows, k_rows, v_rows = (axes.keys(array.data) for array in given.values())
    _check_sizes(q_rows, k_rows, v_rows)
    sees = _seen(causal, seen, q_rows.shape[0], q_rows.shape[2], k_rows.shape[2])
    sequences, query_heads, _, key_dim = q_rows.shape
    scale = default_scale(key_dim) if scale is None else number(scale, "scale")
    if budget is None:
        arrays = given["q"], given["k"], given["v"]
        return dense(q, *arrays, axes, sees, scale, threads, out, bool(certificates))

    types = {given["k"].dtype, given["v"].dtype}
    cache = Cache(
        query_heads,
        k_rows.shape[1],
        key_dim,
        v_rows.shape[3],
        scale=scale,
        bits=bits,
        dtype=dtype or (types.pop() if len(types) == 1 else "f32"),
        threads=threads,
    )
    batch = range(sequences) if axes.batch else None
    for sequence in range(sequences):
        cache.add(sequence)
    cache.append(k, v, sequences=batch, layout=layout)
    return cache.attend(
        q,
        budget,
        sequences=batch,
        seen=sees,
        prefer=prefer,
        look=look,
        dense_below=dense_below,
        value_share=value_share,
        layout=layout,
        out=out,
        certificates=certificates is not False,
    )


def _check_sizes(q: AnyArray, k: AnyArray, v: AnyArray) -> None:
    """Raises an error unless these arrays, [sequence, head, token, channel], go together."""
    for name, rows in (("k", k), ("v", v)):
        if rows.shape[0] != q.shape[0]:
            raise Error(f"{name} has {rows.shape[0]} sequences; q has {q.shape[0]}")
    if k.shape[1:3] != v.shape[1:3]:
        raise Error(
            f"v has {v.shape[1]} heads and {v.shape[2]} tokens; it must have {k.shape[1]} and "
            f"{k.shape[2]}, as k has"
        )
    if q.shape[3] != k.shape[3]:
        raise Error(f"k has {k.shape[3]} channels; it must have {q.shape[3]}, as q has")


def _seen(
    causal: bool, seen: Any, sequences: int, queries: int, tokens: int
) -> npt.NDArray[np.int64]:
    """Returns how many keys each query of each sequence sees."""
    if seen is not None:
        if causal:
            raise Error("causal and seen are both given; one of them must be left out")
        found = seen_of(seen)
        if found.size != sequences * queries:
            raise Error(f"seen has {found.size} numbers; q has {sequences * queries} queries")
        return found
    if causal and queries > tokens:
        raise Error(f"causal attention of {queries} queries needs as many keys; k has {tokens}")
    last = np.arange(tokens - queries + 1, tokens + 1) if causal else np.full(queries, tokens)
    return np.tile(last, sequences)
