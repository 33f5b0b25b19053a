"""The KV cache of one layer, and attention over it."""

import math
import os
from collections.abc import Iterable
from typing import Any, NamedTuple

import numpy as np

from . import _tamis
from ._arguments import integer, number, path_of, word
from ._arrays import FLOATS, array_of, like
from ._layout import Batch, Output, name_of, seen_of
from .attention import CERTIFICATE, Attention
from .budget import budgets_of

_LARGEST_INT = 2**31 - 1


class Heads(NamedTuple):
    """The sizes that all heads of a layer share. Logits are scale · q·k."""

    query_heads: int
    kv_heads: int
    key_dim: int
    value_dim: int
    scale: float


class Options(NamedTuple):
    """How a cache stores keys and values."""

    bits: int
    dtype: str
    sinks: int
    raw_below: int
    capacity: int
    threads: int


class Cache:
    """The keys and values of any number of sequences, for one layer of a model.

    They are stored once, in planes of 4 bits, so that attention reads the first plane of every key
    and deeper planes only where they matter. Sequences have whole numbers as names; a call that
    names none means sequence 0.

    - `query_heads`, `kv_heads`: a multiple of the second; query heads share a KV head in groups.
    - `key_dim`, `value_dim`: the sizes of a key and of a value; the latter is `key_dim` if None.
    - `scale`: logits are scale · q·k; 1/√key_dim if None.
    - `bits`: bits for a coded number, 8, 12 or 16. Mass budgets below 0.02 need 16.
    - `dtype`: "f32", "f16" or "bf16", the type of tokens that are kept as they came. What is
      appended must fit it without rounding.
    - `sinks`: how many of the first tokens are kept as they came; `raw_below`: a sequence with
      fewer tokens is kept so as a whole.
    - `capacity`: the most bytes that the cache may take; 0 for no limit.
    - `threads`: how many threads calls use; 0 for all cores.

    Calls from several threads may run at once; the interpreter's lock is released while they work.
    Only a call that changes a sequence must not run beside another on that sequence: then one of
    the two raises an error. A call that raises leaves the cache as it was.

    >>> import numpy as np, tamis
    >>> random = np.random.default_rng(0)
    >>> keys, values = random.standard_normal((2, 2, 2000, 64), dtype=np.float32)
    >>> cache = tamis.Cache(query_heads=8, kv_heads=2, key_dim=64, dtype="f32")
    >>> cache.append(keys, values)
    >>> q = random.standard_normal((8, 1, 64), dtype=np.float32)
    >>> out, certificates = cache.attend(q, "mass:0.05")
    >>> out.shape, certificates.shape
    ((8, 1, 64), (8, 1))
    >>> bool((certificates["tau"] <= 0.05).all())
    True
    """

    def __init__(
        self,
        query_heads: int,
        kv_heads: int,
        key_dim: int,
        value_dim: int | None = None,
        *,
        scale: float | None = None,
        bits: int = 12,
        dtype: str = "bf16",
        sinks: int = 4,
        raw_below: int = 1024,
        capacity: int = 0,
        threads: int = 0,
    ) -> None:
        key_dim = integer(key_dim, "key_dim", 1)
        value_dim = key_dim if value_dim is None else integer(value_dim, "value_dim", 1)
        self._heads = Heads(
            integer(query_heads, "query_heads", 1),
            integer(kv_heads, "kv_heads", 1),
            key_dim,
            value_dim,
            float(np.float32(default_scale(key_dim) if scale is None else number(scale, "scale"))),
        )
        self._options = Options(
            integer(bits, "bits", 0, _LARGEST_INT),
            word(dtype, "dtype", FLOATS),
            integer(sinks, "sinks"),
            integer(raw_below, "raw_below"),
            integer(capacity, "capacity"),
            integer(threads, "threads", 0, _LARGEST_INT),
        )
        self._cache = _tamis.Cache(**self._heads._asdict(), **self._options._asdict())
        self._had_sequences = False

    def __repr__(self) -> str:
        q, kv, d, d_v, _ = self._heads
        return (
            f"<tamis.Cache: {q} query heads on {kv} KV heads of size {d} and {d_v}, "
            f"{self._options.bits} bits, {len(self)} sequences, {self.nbytes} bytes>"
        )

    @property
    def heads(self) -> Heads:
        """The sizes that all heads share."""
        return self._heads

    @property
    def options(self) -> Options:
        """How keys and values are stored."""
        return self._options

    @property
    def nbytes(self) -> int:
        """The bytes that keys and values take, with the lists of their pages."""
        return self._cache.nbytes()

    @property
    def free_nbytes(self) -> int:
        """The part of `nbytes` that is kept for tokens to come."""
        return self._cache.free_nbytes()

    def __len__(self) -> int:
        """The number of sequences."""
        return self._cache.sequences()

    def __contains__(self, sequence: object) -> bool:
        return self._cache.contains(name_of(sequence))

    def tokens(self, sequence: int = 0) -> int:
        """The number of tokens of a sequence."""
        return self._cache.tokens(name_of(sequence))

    def add(self, sequence: int) -> None:
        """Adds an empty sequence, which must not exist."""
        self._cache.add(name_of(sequence))
        self._had_sequences = True

    def remove(self, sequence: int) -> None:
        """Removes a sequence. Memory that no other sequence shares becomes free."""
        self._cache.remove(name_of(sequence))

    def append(
        self,
        keys: Any,
        values: Any,
        sequence: int = 0,
        *,
        sequences: Iterable[int] | None = None,
        tokens: Iterable[int] | None = None,
        layout: str = "HTD",
    ) -> None:
        """Appends tokens to one sequence or to many.

        - One `sequence`: `keys` and `values` are [heads, tokens, channels]. Sequence 0 is added
          first if the cache has never had a sequence.
        - `sequences`, the same number of tokens for each: [sequences, heads, tokens, channels].
        - `sequences` and `tokens`, a number for each: [heads, all tokens, channels], the tokens of
          one sequence after those of another.

        With layout "THD" the axis of tokens stands before that of heads. The arrays may be of
        NumPy, torch (on the CPU) or anything else that has DLPack or the buffer protocol, with f32,
        f16 or bf16 and any strides; they are read where they lie. Numbers that are not finite are
        refused.

        >>> import ml_dtypes, numpy as np, tamis
        >>> cache = tamis.Cache(4, 2, 16)
        >>> prompt = np.zeros((2, 30, 16), ml_dtypes.bfloat16)
        >>> cache.append(prompt, prompt)
        >>> cache.fork(1)
        >>> step = np.ones((2, 2, 1, 16), ml_dtypes.bfloat16)
        >>> cache.append(step, step, sequences=[0, 1])
        >>> cache.tokens(0), cache.tokens(1)
        (31, 31)
        """
        batch = Batch(layout, sequence, sequences, tokens, "tokens")
        k, v = array_of(keys, "keys"), array_of(values, "values")
        batch.layout.check(k.data, "keys")
        batch.layout.check(v.data, "values")
        counts = batch.counts(k.data, "keys")
        rows = batch.layout.keys
        is_first = sequences is None and batch.names == [0] and not self._had_sequences
        if is_first:
            self.add(0)
        try:
            self._cache.append(
                batch.names, counts, rows(k.data), k.is_bf16, rows(v.data), v.is_bf16
            )
        except BaseException:
            if is_first:
                self.remove(0)
                self._had_sequences = False
            raise

    def truncate(self, tokens: int, sequence: int = 0) -> None:
        """Keeps the first `tokens` tokens of a sequence, with their bits, and removes the others."""
        self._cache.truncate(name_of(sequence), integer(tokens, "tokens"))

    def fork(self, to: int, tokens: int | None = None, sequence: int = 0) -> None:
        """Creates the sequence `to` from the first `tokens` tokens of `sequence`, or from all of
        them. Both share the memory of these tokens."""
        source = name_of(sequence)
        count = self._cache.tokens(source) if tokens is None else integer(tokens, "tokens")
        self._cache.fork(source, count, name_of(to, "to"))
        self._had_sequences = True

    def shed(self, bits: int, tokens: int | None = None, sequence: int = 0) -> None:
        """Reduces the coded blocks before position `tokens`, or all, to 12 or 8 bits a number. The
        bounds of certificates become wider and stay valid."""
        name = name_of(sequence)
        count = self._cache.tokens(name) if tokens is None else integer(tokens, "tokens")
        self._cache.shed(name, integer(bits, "bits", 0, _LARGEST_INT), count)

    def save(self, path: str | os.PathLike[str], sequence: int = 0) -> None:
        """Writes a sequence to a file, which appears under its name when it is complete."""
        self._cache.save(name_of(sequence), path_of(path))

    def load(self, path: str | os.PathLike[str], sequence: int = 0) -> None:
        """Creates a sequence, which must not exist, from a file that a cache with the same heads
        and options saved. It continues as the saved one would."""
        self._cache.load(name_of(sequence), path_of(path))
        self._had_sequences = True

    def attend(
        self,
        q: Any,
        budget: str | Iterable[str] = "mass:0.05",
        *,
        sequence: int = 0,
        sequences: Iterable[int] | None = None,
        queries: Iterable[int] | None = None,
        seen: Any = None,
        prefer: str = "bytes",
        look: int = 0,
        dense_below: int = 0,
        value_share: float = 0.4,
        layout: str = "HTD",
        out: Any = None,
        certificates: bool = True,
    ) -> Attention:
        """Attention of queries over their sequences that reads only what a budget asks for.

        - `q`: [query heads, queries, channels] for one `sequence`; for `sequences` with the same
          number of queries for each an axis before these; for `sequences` and `queries`, a number
          for each, the queries of one sequence after those of another, as for `append`.
        - `budget`: "mass:EPS", "bytes:SHARE", "topk:K", "power:ALPHA,C" or "window:W,SINKS", or a
          list with a budget for each query head.
        - `seen`: how many tokens each query sees; if None, the last query of a sequence sees all,
          the query before it one less, and so on.
        - `prefer`, `look`, `dense_below`, `value_share`: `prefer="time"` reads two planes of every
          key at first; `look` says how many planes, 1 or 2, itself; attention is dense for queries
          that see fewer tokens than `dense_below`; with "mass:EPS", values may add `value_share` ·
          EPS times their spread to the error.
        - `out`: the array that outputs are written into, f32, f16 or bf16; a new one of f32 if
          None. It has the layout of `q`.
        - `certificates`: False computes none.

        Returns an `Attention`. If `q` is a tensor of torch, so are `out` and `lse`. The result of
        a sequence does not depend on the rest of the batch or on the number of threads.
        """
        batch = Batch(layout, sequence, sequences, queries, "queries")
        axes = batch.layout
        array = array_of(q, "q")
        given = array.data
        axes.check(given, "q")
        counts = batch.counts(given, "q")
        rows = axes.queries(given)
        written = Output(out, axes, (*given.shape[:-1], self._heads.value_dim), rows)
        lse = np.empty(rows.shape[:2], np.float32)
        proofs = np.empty(rows.shape[:2], CERTIFICATE) if certificates else None
        _tamis.attend(
            self._cache,
            batch.names,
            counts,
            None if seen is None else seen_of(seen),
            budgets_of(budget),
            word(prefer, "prefer", ("bytes", "time")) == "time",
            integer(look, "look", 0, 2),
            integer(dense_below, "dense_below"),
            number(value_share, "value_share"),
            rows,
            array.is_bf16,
            written.rows,
            written.dtype == "bf16",
            lse.reshape(-1),
            None if proofs is None else proofs.reshape(-1).view(np.uint8),
        )
        return Attention(
            written.result(q),
            like(q, axes.of_queries(lse, given)),
            None if proofs is None else axes.of_queries(proofs, given),
        )


def default_scale(key_dim: int) -> float:
    """Returns 1/√key_dim, the scale of logits where none is given."""
    return 1 / math.sqrt(max(1, key_dim))
