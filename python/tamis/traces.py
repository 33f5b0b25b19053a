"""Traces: the queries, keys and values that attention saw in a model, in a file (docs/trace.md)."""

import math
import os
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from . import _html, _tamis
from ._arguments import integer, number, path_of
from ._calls import Path
from ._tensors import Array, dtype_named, numpy_of, parts_of
from .error import Error

TENSORS = ("q", "k", "v", "w_q", "w_k", "w_norm", "input_bound")
"""What a layer of a trace may hold."""
OWN_KEYS = {
    "format",
    "version",
    "scale",
    "causal",
    "tokens",
    "rope_theta",
    "rope_dims",
    "rope_style",
}
"""The metadata that the format itself defines."""


@dataclass(frozen=True, slots=True)
class Rotary:
    """The rotary position embedding that q and k of a trace have gone through."""

    theta: float
    """Base of the frequencies."""
    dims: int
    """How many leading dimensions of a head are rotated; even."""
    interleaved: bool = False
    """Rotated pairs are (0, 1), (2, 3), … rather than (i, i + dims/2)."""


@dataclass(frozen=True, slots=True, repr=False)
class TraceLayer:
    """One layer of a trace. The arrays are read when they are first asked for, and then kept as
    long as this object lives.
    """

    layer: int
    query_heads: int
    kv_heads: int
    queries: int
    head_dim: int
    value_dim: int
    scale: float
    """Logits are scale · q·k."""
    dtype: str
    """The type of k and v in the file: "f16", "bf16" or "f32"."""
    query_dtype: str
    has_weights: bool
    """Whether the trace holds w_q and w_k."""
    has_weight_norms: bool
    """Whether the trace holds w_norm."""
    input_bound: float | None
    """B, with |x_ij| ≤ B for every entry of the layer's input."""
    _trace: _tamis.Trace
    _read: dict[str, Array] = field(default_factory=dict)

    @property
    def q(self) -> Array:
        """Queries, [query_heads, queries, head_dim]."""
        return self._data("q")

    @property
    def k(self) -> Array:
        """Keys, [kv_heads, tokens, head_dim]."""
        return self._data("k")

    @property
    def v(self) -> Array:
        """Values, [kv_heads, tokens, value_dim]."""
        return self._data("v")

    @property
    def w_q(self) -> Array | None:
        """Projections of the queries, [query_heads, hidden, head_dim], or None."""
        return self._weights("w_q")

    @property
    def w_k(self) -> Array | None:
        """Projections of the keys, [kv_heads, hidden, head_dim], or None."""
        return self._weights("w_k")

    @property
    def w_norm(self) -> Array | None:
        """|scale|·‖W_Q W_Kᵀ‖_F of each query head, in f64, or None."""
        if not self.has_weight_norms:
            return None
        if "w_norm" not in self._read:
            self._read["w_norm"] = self._trace.read_weight_norms(self.layer)
        return self._read["w_norm"]

    def _data(self, name: str) -> Array:
        if name not in self._read:
            data = self._trace.read(self.layer)
            # The module widens queries to f32, which every type of queries fits into exactly.
            self._read["q"] = data["q"].astype(dtype_named(self.query_dtype), copy=False)
            self._read["k"] = numpy_of(data["k"])
            self._read["v"] = numpy_of(data["v"])
        return self._read[name]

    def _weights(self, name: str) -> Array | None:
        if not self.has_weights:
            return None
        if name not in self._read:
            for key, tensor in self._trace.read_weights(self.layer).items():
                self._read[key] = numpy_of(tensor)
        return self._read[name]

    def __repr__(self) -> str:
        return (
            f"TraceLayer({self.layer}: {self.query_heads} heads on {self.kv_heads}, "
            f"{self.queries} queries, d {self.head_dim}, {self.dtype})"
        )


class Trace:
    """An open trace. Opening checks the whole header; reading a layer checks that its numbers are
    finite and takes memory for that layer alone.

    >>> trace = load_trace("data/smollm2-kjv-8k-small.safetensors")
    >>> trace.layers, trace.tokens
    ((3, 12, 21), 8192)
    >>> trace.layer(12).k.shape
    (1, 8192, 64)
    """

    def __init__(self, path: Path) -> None:
        self._handle = _tamis.Trace(path_of(path))
        self.path = os.fspath(path)
        """The file, as it was named."""
        self._layers = {layer["layer"]: layer for layer in self._handle.layers}

    @classmethod
    def from_arrays(
        cls,
        layers: Mapping[int, Mapping[str, Any]],
        positions: Any,
        *,
        name: str = "arrays",
        **options: Any,
    ) -> "Trace":
        """Makes a trace of arrays in memory. They are written to a file in a private folder for
        temporary files, checked as `save_trace` does, and the file is removed at once; its space is
        given back when the trace goes. `name` is what profiles call it; `options` are those of
        `save_trace`.
        """
        if not name or "/" in name or "\0" in name:
            raise Error(f"name is {name!r}; it must be the name of a file, without a folder")
        with tempfile.TemporaryDirectory(prefix="tamis-") as folder:
            path = os.path.join(folder, name)
            with _naming(path, name):
                _write(path, layers, positions, **options)
                trace = cls(path)
        trace.path = name
        return trace

    @property
    def layers(self) -> tuple[int, ...]:
        """The numbers of the layers, ascending."""
        return tuple(self._layers)

    def layer(self, layer: int) -> TraceLayer:
        """Returns the layer of this number. Its arrays are read when they are asked for."""
        found = integer(layer, "layer")
        if found not in self._layers:
            self._handle.read(found)  # raises the sentence that names the layers
        return TraceLayer(**self._layers[found], _trace=self._handle)

    @property
    def tokens(self) -> int:
        """The number of tokens of the text."""
        return self._handle.tokens

    @property
    def causal(self) -> bool:
        """Whether a query sees the tokens up to its own position only."""
        return self._handle.causal

    @property
    def positions(self) -> Array:
        """The position of each query in the text, int64."""
        return self._handle.positions

    @property
    def seen(self) -> Array:
        """The number of keys that each query sees, int64."""
        return self._handle.seen

    @property
    def rotary(self) -> Rotary | None:
        """The rotary embedding that q and k have gone through, if the trace says so."""
        rotary = self._handle.rotary
        return None if rotary is None else Rotary(**rotary)

    @property
    def metadata(self) -> dict[str, str]:
        """All metadata of the file."""
        return self._handle.metadata

    @property
    def notes(self) -> dict[str, str]:
        """The metadata that the format leaves free: model, text, licence and the like."""
        return {key: value for key, value in self.metadata.items() if key not in OWN_KEYS}

    def __repr__(self) -> str:
        return (
            f"Trace({self.path!r}: layers {', '.join(map(str, self.layers))}; "
            f"{len(self.positions)} queries, {self.tokens} tokens"
            f"{'' if self.causal else ', not causal'})"
        )

    def _repr_html_(self) -> str:
        rows = []
        for layer in map(self.layer, self.layers):
            heads = f"{layer.query_heads} on {layer.kv_heads}"
            dims = f"{layer.head_dim}, {layer.value_dim}"
            extras = [name for name, has in (("w_q, w_k", layer.has_weights),) if has]
            extras += ["w_norm"] if layer.has_weight_norms else []
            extras += [] if layer.input_bound is None else [f"B = {layer.input_bound:.3g}"]
            rows.append(
                (
                    layer.layer,
                    heads,
                    dims,
                    layer.dtype,
                    f"{layer.scale:.4g}",
                    ", ".join(extras) or "–",
                )
            )
        caption = (
            f"{os.path.basename(self.path)}: {len(self.positions)} queries, {self.tokens} tokens, "
            f"{'causal' if self.causal else 'not causal'}"
        )
        heading = ("layer", "heads", "d, d_v", "k, v", "scale", "also")
        return _html.table(heading, rows, caption, words=(5,)) + _html.facts(
            "metadata", self.notes.items()
        )


def load_trace(path: Path) -> Trace:
    """Opens a trace. Raises `Error` with a sentence that names the tensor or key at fault."""
    return Trace(path)


def save_trace(
    path: Path,
    layers: Mapping[int, Mapping[str, Any]],
    positions: Any,
    *,
    causal: bool = True,
    scale: float | None = None,
    rotary: Rotary | None = None,
    metadata: Mapping[str, str] | None = None,
) -> None:
    """Writes a trace (docs/trace.md).

    `layers` has for each layer's number its arrays by name: q, k and v, and if wanted w_q with w_k,
    w_norm and input_bound, in the shapes of docs/trace.md; NumPy arrays (bfloat16 by ml_dtypes) or
    torch tensors, stored in their own type. `positions` are the places of the queries in the text.
    Logits are scale · q·k with the `scale` given here or, the same for all, with the layers;
    without one it is 1/√d. `rotary` is the embedding that q and k have gone through. `metadata` are
    notes: model, text, licence.

    The file is written under a temporary name beside `path` and read again, all of it, before it
    gets its own name: what breaks a rule of the format is refused with the sentence that reading it
    would give, and whatever `path` was stays.
    """
    _tamis.check_writable(path_of(path))
    target = os.fsdecode(_tamis.behind_links(path_of(path)))
    try:
        folder, name = os.path.split(target)
        with tempfile.TemporaryDirectory(prefix=".tamis-", dir=folder or ".") as beside:
            written = os.path.join(beside, name)
            with _naming(written, os.fspath(path)):
                _write(
                    written,
                    layers,
                    positions,
                    causal=causal,
                    scale=scale,
                    rotary=rotary,
                    metadata=metadata,
                )
            if os.path.exists(target):
                os.chmod(written, os.stat(target).st_mode & 0o777)
            os.replace(written, target)
    except OSError as error:
        raise Error(f"{os.fspath(path)}: {error.strerror}, nothing was kept", "io") from error


@contextmanager
def _naming(written: str, path: str) -> Iterator[None]:
    """Lets errors name `path`, which the caller knows, in place of the temporary `written`."""
    try:
        yield
    except Error as error:
        raise Error(str(error).replace(written, path), error.code) from None


def _write(
    path: str,
    layers: Mapping[int, Mapping[str, Any]],
    positions: Any,
    *,
    causal: bool = True,
    scale: float | None = None,
    rotary: Rotary | None = None,
    metadata: Mapping[str, str] | None = None,
) -> None:
    """Writes a trace at `path` and checks it by reading it again."""
    tensors = [("positions", *parts_of("positions", positions))]
    for layer, given in layers.items():
        for name, array in given.items():
            if name == "scale" or array is None:
                continue
            if name not in TENSORS:
                raise Error(
                    f"layer {layer} has {name!r}, which is no part of a trace; give "
                    f"{', '.join(TENSORS)} or scale"
                )
            if name == "input_bound" and np.ndim(array) == 0:
                array = np.array([array], np.float64)
            full = f"layers.{layer}.{name}"
            tensors.append((full, *parts_of(full, array)))
    own = {
        "format": "tamis-trace",
        "version": "1",
        "scale": repr(_scale_of(layers, scale)),
        "causal": "true" if causal else "false",
    }
    if rotary is not None:
        own["rope_theta"] = repr(number(rotary.theta, "theta"))
        own["rope_dims"] = str(rotary.dims)
        own["rope_style"] = "interleaved" if rotary.interleaved else "half"
    notes = dict(metadata or {})
    for key, value in notes.items():
        if key in OWN_KEYS:
            raise Error(f"metadata has {key!r}, which the format defines itself; leave it out")
        if not isinstance(key, str) or not isinstance(value, str):
            raise Error(f"metadata has {key!r}: {value!r}; keys and values must be strings")
    encoded = path_of(path)
    _tamis.write_tensors(encoded, tensors, own | notes)
    _tamis.check_trace(encoded)


def _scale_of(layers: Mapping[int, Mapping[str, Any]], scale: float | None) -> float:
    """The one scale of a trace: that which was given, else 1/√d."""
    scales = {number(layer["scale"], "scale") for layer in layers.values() if "scale" in layer}
    if scale is not None:
        scales.add(number(scale, "scale"))
    if not scales:
        shapes = [np.shape(layer["q"]) for layer in layers.values() if "q" in layer]
        scales = {1 / math.sqrt(shape[-1]) for shape in shapes if shape and shape[-1] > 0}
        if not scales:
            return 1.0  # the trace has no queries, which is what the reader will complain of
    if len(scales) > 1:
        raise Error(
            f"the scales {', '.join(map(repr, sorted(scales)))} were given or follow from the "
            "layers; a trace has one scale for all of them"
        )
    return scales.pop()
