"""Profiles: how sparse each head's attention is, and by which law that grows with context."""

import json
import re
from collections.abc import Iterable
from typing import Any

from . import _html, _plots, _tamis
from ._arguments import integer, integers, number, path_of
from ._calls import Path, Progress, seed_of, threads_of
from ._tensors import Array
from .traces import Trace, load_trace


class Profile:
    """A profile of a trace. Its numbers have the names of docs/profile.md, which says what each of
    them means.
    """

    def __init__(
        self, handle: _tamis.Profile, rows: dict[int, dict[str, Array]] | None = None
    ) -> None:
        """Use `profile` or `load_profile`."""
        self._handle = handle
        self._text = handle.text()
        self.data: dict[str, Any] = json.loads(self._text)
        """The members of the file. What could not be computed is None."""
        self.heads: list[dict[str, Any]] = self.data["heads"]
        """One entry per head, by layer and head: k_eps, law, alpha, C, budget and so on."""
        self.layers: list[dict[str, Any]] = self.data["layers"]
        """One entry per layer: its number, input bound and collapse."""
        self.eps: list[float] = self.data["eps"]
        """The shares of mass that may be left out."""
        self.rows = rows or {}
        """The figures of every row by layer and name, as `tamis profile --rows` writes them: arrays
        [heads, queries, …]. Empty unless `profile` was asked for them."""

    def head(self, layer: int, head: int, eps: float | None = None) -> dict[str, Any]:
        """Returns the entry of one head. The members that depend on ε are those of `eps`, by
        default of the first.
        """
        for entry in self.heads:
            if (entry["layer"], entry["head"]) == (layer, head):
                return {**entry, **of_eps(entry, self.eps[0] if eps is None else eps)}
        raise KeyError(f"the profile has no head {head} in layer {layer}")

    def to_json(self) -> str:
        """Returns the text that `save` writes."""
        return self._text

    def save(self, path: Path) -> None:
        """Writes the profile as JSON, which `load_profile` and the budget profile:FILE read."""
        _tamis.write_profile(path_of(path), self._handle)

    def compare(self, other: "Profile") -> list[dict[str, Any]]:
        """Compares every head with the same head of `other`, at the first ε. Returns for each:
        layer, head, the pairs k_eps (medians), C and law, `k_ratio` (the other's k_eps over this
        one's), `law_differs`, and `exponents_apart` if the intervals of C do not overlap.
        """
        return _tamis.compare_profiles(self._handle, other._handle)

    def plot(self, what: str = "growth", eps: float | None = None) -> Any:
        """Returns an Altair chart.

        "growth"    k_eps against n for every head: medians, p10 to p90, the law and the null
        "laws"      the law and exponent C of every head
        "collapse"  top-1 mass, effective support and sink mass against n for every layer
        """
        shown = self.eps[0] if eps is None else eps
        heads = [{**head, **of_eps(head, shown)} for head in self.heads]
        return _plots.profile(self, what, shown, heads)

    def __repr__(self) -> str:
        data = self.data
        return (
            f"Profile({data['trace']!r}: {len(self.heads)} heads in {len(self.layers)} layers, "
            f"{data['queries']} queries each, {data['tokens']} tokens)"
        )

    def _repr_html_(self) -> str:
        data = self.data
        model = f" of {data['model']}" if data["model"] else ""
        caption = (
            f"{data['trace']}{model}: {len(self.heads)} heads, {data['queries']} queries each, "
            f"{data['tokens']} tokens. Medians over rows."
        )
        first, *others = self.eps
        heading = ["layer", "head", f"k {100 * first:g}%", "p10…p90", "of n", "law", "C"]
        heading += ["interval", "null k", *(f"k {100 * eps:g}%" for eps in others)]
        heading += ["σ", "top-1", "e^H", f"first {data['sinks']}", "held out", "budget"]
        return _html.table(heading, map(_line, self.heads), caption, words=(5, len(heading) - 1))


def of_eps(head: dict[str, Any], eps: float) -> dict[str, Any]:
    """Returns the members of a head's entry that depend on ε, for one of the profile's ε."""
    if head["eps"] == eps:
        return head
    others: list[dict[str, Any]] = head["other_eps"]
    for entry in others:
        if entry["eps"] == eps:
            return entry
    known = ", ".join(f"{e['eps']:g}" for e in (head, *others))
    raise KeyError(f"the profile was not made for eps {eps:g}; it has {known}")


def _line(head: dict[str, Any]) -> list[str]:
    """A head's row of the table."""
    number, percent = _html.number, _html.percent
    k, power = head["k_eps"], head["rules"]["power"]
    interval = "–"
    if head["C_low"] is not None and head["C_high"] is not None:
        interval = f"{head['C_low']:.2f}…{head['C_high']:.2f}"
    calibrated = power["alpha"] is not None and power["held_out"]["rate"] is not None
    return [
        number(head["layer"]),
        number(head["head"]),
        number(k["median"]),
        f"{number(k['p10'])}…{number(k['p90'])}",
        percent(head["share"]["median"]),
        head["law"],
        "–" if head["C"] is None else f"{head['C']:.2f}",
        interval,
        number(head["null"]["median"]),
        *(number(other["k_eps"]["median"]) for other in head["other_eps"]),
        number(head["sigma"]["median"]),
        _mass(head["top1"]["median"]),
        number(head["effective_support"]["median"]),
        _mass(head["sink"]["median"]),
        percent(power["held_out"]["rate"]) if calibrated else "–",
        re.sub(r"\d+\.\d+", lambda digits: f"{float(digits[0]):.4g}", head["budget"]),
    ]


def _mass(share: float | None) -> str:
    return "–" if share is None else f"{share:.3f}"


def profile(
    trace: Trace | Path,
    eps: Iterable[float] = (0.01, 0.05),
    delta: float = 0.1,
    *,
    layers: Iterable[int] | None = None,
    sinks: int = 1,
    windows: Iterable[int] = (64, 256, 1024),
    bins: int = 8,
    confidence: float = 0.95,
    significance: float = 0.01,
    material: float = 0.1,
    resamples: int = 999,
    seed: int = 0,
    threads: int = 0,
    rows: bool = False,
    progress: Progress | None = None,
) -> Profile:
    """Measures how many keys each head of a trace needs, and by which law that grows with context.

    For every query: k_eps, the fewest keys that hold all mass but a share ε, and the other figures
    of docs/profile.md; for every head their quantiles, the law of k_eps over n, and a rule
    k = α·n^C that keeps mass 1 − ε on a share 1 − `delta` of rows, calibrated for every ε. The
    head's budget is that of the first. `layers` are the layers to measure, by default all. With
    `rows` the figures of every row are kept in `Profile.rows`.

    Arrays in memory are profiled as `profile(Trace.from_arrays(…))`, which puts them into a
    temporary file. Takes the time of one or two passes of dense attention; holds one layer in
    memory at a time. The same trace and options give the same bits for any number of threads.

    >>> heads = profile("data/smollm2-kjv-8k-small.safetensors", layers=[3]).heads
    >>> [head["law"] for head in heads]
    ['power', 'power', 'power']
    """
    opened = trace if isinstance(trace, Trace) else load_trace(trace)
    handle, figures = _tamis.profile(
        opened._handle,
        [number(one, "eps") for one in eps],
        number(delta, "delta"),
        integer(sinks, "sinks"),
        integers(windows, "windows"),
        [] if layers is None else integers(layers, "layers"),
        integer(bins, "bins"),
        number(confidence, "confidence"),
        number(significance, "significance"),
        number(material, "material"),
        integer(resamples, "resamples"),
        seed_of(seed),
        threads_of(threads),
        rows,
        progress,
    )
    return Profile(handle, figures)


def load_profile(path: Path) -> Profile:
    """Reads a profile that `Profile.save` or `tamis profile --out` wrote."""
    return Profile(_tamis.read_profile(path_of(path)))
