"""Charts of the lab's results. Altair is imported when the first chart is made."""

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from ._tamis import printable
from ._tensors import Array
from .error import Error

if TYPE_CHECKING:
    from .frontiers import Frontier
    from .patterns import Pattern
    from .profiles import Profile
    from .witnesses import Conditions, Witness

INK = "#246"
RED = "#c33"
GREY = "#888"
PALE = "#9ab"
MOST_CELLS = 128
"""Matrices with longer sides are drawn with cells of several entries."""


def altair() -> Any:
    """Returns the package altair, or says how to install it."""
    try:
        import altair
    except ImportError as error:
        raise ImportError('charts need the package altair: pip install "tamis[plots]"') from error
    return altair


def profile(made: "Profile", what: str, eps: float, heads: list[dict[str, Any]]) -> Any:
    """Returns one of the charts of a profile. `heads` are its heads with the members of this ε."""
    if what == "growth":
        return _growth(made, heads, eps)
    if what == "laws":
        return _laws(made, heads, eps)
    if what == "collapse":
        return _collapse(made)
    raise Error(f"what is {what!r}; it must be 'growth', 'laws' or 'collapse'")


def _title(made: "Profile", text: str) -> Any:
    # Altair writes charts into <script> as they are; a name with "</script>" would end it.
    name = printable(made.data["trace"]).replace("<", "‹")
    return altair().Title(f"{name}: {text}", anchor="start", offset=12)


def _log(channel: Any, field: str, title: str, **scale: Any) -> Any:
    """An axis with a logarithmic scale, with so few labels that they do not touch."""
    alt = altair()
    axis = alt.Axis(tickCount=4, labelOverlap="greedy", gridOpacity=0.5)
    return channel(field, title=title, axis=axis, scale=alt.Scale(type="log", **scale))


def _growth(made: "Profile", heads: list[dict[str, Any]], eps: float) -> Any:
    """One small chart for each head: medians with their spread, the law, and the null."""
    alt = altair()
    names = [f"layer {head['layer']} head {head['head']}: {head['law']}" for head in heads]
    kinds = ("law", "null")
    bins, curves = [], []
    for name, head in zip(names, heads, strict=True):
        for growth in head["growth"]:
            common = {"name": name, "law": head["law"], "n": growth["n"]}
            bins.append({**common, **growth["k_eps"]})
            curves += [
                {**common, "kind": kind, "k": growth[kind]}
                for kind in kinds
                if growth[kind] is not None
            ]
    if not bins:
        raise Error("the profile has no rows to draw", "input")
    x = _log(alt.X, "n:Q", "keys seen, n", nice=False, padding=8)

    def y(field: str) -> Any:
        return _log(alt.Y, field, f"k, {100 * eps:g} % left out")

    data = alt.Data(values=[{**entry, "of": "bin"} for entry in bins] + curves)
    bars = alt.Chart().mark_rule(color=PALE).encode(x=x, y=y("p10:Q"), y2="p90:Q")
    points = (
        alt.Chart()
        .mark_point(filled=True, color=INK)
        .encode(
            x=x, y=y("median:Q"), tooltip=["name:N", "law:N", "n:Q", "p10:Q", "median:Q", "p90:Q"]
        )
    )
    lines = (
        alt.Chart()
        .mark_line()
        .encode(
            x=x,
            y=y("k:Q"),
            color=alt.Color(
                "kind:N",
                title=None,
                scale=alt.Scale(domain=list(kinds), range=[RED, GREY]),
            ),
            strokeDash=alt.StrokeDash(
                "kind:N", title=None, scale=alt.Scale(domain=list(kinds), range=[[1, 0], [4, 3]])
            ),
        )
    )
    of_bins = alt.datum.of == "bin"
    return (
        alt.layer(
            bars.transform_filter(of_bins),
            points.transform_filter(of_bins),
            lines.transform_filter(alt.datum.of != "bin"),
            data=data,
        )
        .properties(width=150, height=110)
        .facet(
            facet=alt.Facet("name:N", title=None, sort=names), columns=min(4, max(1, len(names)))
        )
        .properties(title=_title(made, "keys that hold the mass, medians and p10 to p90"))
    )


def _laws(made: "Profile", heads: list[dict[str, Any]], eps: float) -> Any:
    """The law of each head in words over its exponent in colour."""
    alt = altair()
    values = [
        {
            **{name: head[name] for name in ("layer", "head", "law", "C", "C_low", "C_high")},
            "k": head["k_eps"]["median"],
        }
        for head in heads
    ]
    base = alt.Chart(alt.Data(values=values)).encode(
        x=alt.X("head:O", axis=alt.Axis(labelAngle=0)),
        y=alt.Y("layer:O", sort="descending"),
        tooltip=["layer:O", "head:O", "law:N", "C:Q", "C_low:Q", "C_high:Q", "k:Q"],
    )
    colour = alt.Color("C:Q", scale=alt.Scale(scheme="blues", domain=[0, 1], clamp=True))
    words = base.mark_text(fontSize=10).encode(
        text="law:N",
        color=alt.condition(alt.datum.C > 0.6, alt.value("white"), alt.value("black")),
    )
    return (base.mark_rect().encode(color=colour) + words).properties(
        width=alt.Step(58), height=alt.Step(24), title=_title(made, f"law and C, ε = {eps:g}")
    )


def _collapse(made: "Profile") -> Any:
    """How concentrated the rows of a layer are, against their length."""
    alt = altair()
    sinks = made.data["sinks"]
    figures = {
        "top1": "top-1 mass",
        "effective_support": "effective support",
        "sink": "mass of the first token" if sinks == 1 else f"mass of the first {sinks}",
    }
    charts = []
    for member, name in figures.items():
        values = [
            {"layer": layer["layer"], "n": entry["n"], **entry[member]}
            for layer in made.layers
            for entry in layer["collapse"]
        ]
        charts.append(
            alt.Chart(alt.Data(values=values))
            .mark_line(point=True)
            .encode(
                x=_log(alt.X, "n:Q", "keys seen, n", nice=False, padding=8),
                y=alt.Y("median:Q", title="median over rows"),
                color=alt.Color("layer:O", scale=alt.Scale(scheme="viridis")),
                tooltip=["layer:O", "n:Q", "p10:Q", "median:Q", "p90:Q"],
            )
            .properties(width=200, height=160, title=name)
        )
    return alt.hconcat(*charts).properties(title=_title(made, "collapse"))


def pattern(drawn: "Pattern") -> Any:
    """Returns a chart of where a pattern's nonzeros are."""
    value, (row, column) = drawn.to_coo()
    rows, columns = drawn.shape
    title = f"{rows} × {columns}, {drawn.nonzeros} nonzeros"
    return _matrix(row, column, value, drawn.shape, "value", title)


def realisation(drawn: "Pattern", witness: "Witness", conditions: "Conditions") -> Any:
    """Returns the pattern, its rows divided by their sums, beside the attention of the witness."""
    alt = altair()
    rows, columns = drawn.shape
    if rows * columns > 1 << 24:
        raise Error(
            f"the attention of this witness has {rows} × {columns} entries; a chart of more than "
            f"{1 << 24} is not drawn"
        )
    target = drawn.to_array()
    target /= target.sum(axis=1, keepdims=True)
    logits = witness.logits()
    if conditions.causal:
        logits[np.triu_indices(rows, 1)] = -np.inf
    weights = np.exp(logits - logits.max(axis=1, keepdims=True))
    weights /= weights.sum(axis=1, keepdims=True)
    charts = []
    for name, matrix in (("pattern, normalised", target), ("attention of the witness", weights)):
        row, column = np.nonzero(matrix > 1e-3)
        charts.append(
            _matrix(row, column, matrix[row, column], drawn.shape, "weight", name, domain=[0, 1])
        )
    return alt.hconcat(*charts)


def _matrix(
    row: Array,
    column: Array,
    value: Array,
    shape: tuple[int, int],
    quantity: str,
    title: str,
    domain: list[float] | None = None,
) -> Any:
    """The entries of a sparse matrix in colour. A cell of several entries shows their largest."""
    alt = altair()
    steps = [math.ceil(side / MOST_CELLS) for side in shape]
    cells: dict[tuple[int, int], float] = {}
    for i, j, x in zip(row // steps[0], column // steps[1], value, strict=True):
        place = (int(i), int(j))
        cells[place] = max(cells.get(place, -math.inf), float(x))
    values = [
        {
            "row": i * steps[0],
            "row_end": (i + 1) * steps[0],
            "column": j * steps[1],
            "column_end": (j + 1) * steps[1],
            "x": x,
        }
        for (i, j), x in cells.items()
    ]
    sides = [math.ceil(side / step) for side, step in zip(shape, steps, strict=True)]
    pixels = max(1, 320 // max(sides))
    note = "" if steps == [1, 1] else f", cells of {steps[0]} × {steps[1]}"

    def place_on(channel: Any, field: str, side: int, **scale: Any) -> Any:
        return channel(
            field,
            title=field.removesuffix(":Q"),
            scale=alt.Scale(domain=[0, side], nice=False, zero=False, **scale),
            axis=alt.Axis(grid=False, tickMinStep=1, format="d"),
        )

    colours = alt.Scale(
        range=["#fff", "#08306b"],
        interpolate="rgb",
        domain=domain or [0, max(cells.values())],
    )
    return (
        alt.Chart(alt.Data(values=values))
        .mark_rect()
        .encode(
            x=place_on(alt.X, "column:Q", shape[1]),
            x2=alt.X2("column_end:Q", title=""),
            y=place_on(alt.Y, "row:Q", shape[0], reverse=True),
            y2=alt.Y2("row_end:Q", title=""),
            color=alt.Color("x:Q", title=quantity, scale=colours),
            tooltip=["row:Q", "column:Q", alt.Tooltip("x:Q", title=quantity, format=".4g")],
        )
        .properties(
            width=max(40, pixels * sides[1]),
            height=max(40, pixels * sides[0]),
            title=title + note,
        )
    )


def frontier(drawn: "Frontier") -> Any:
    """Returns norm product and max |L| against the number of columns, with the theory's marks."""
    alt = altair()
    theory = drawn.theory
    found = [
        {"dim": point.dim, "what": what, "value": value, "method": point.method}
        for point in drawn.points
        if point.verified
        for what, value in (("norm product", point.norm_product), ("max |L|", point.max_logit))
    ]
    if not found:
        raise Error("no witness was found in any dimension; there is nothing to draw", "input")
    x = _log(alt.X, "dim:Q", "columns of q and k", nice=False, padding=10)
    y = _log(alt.Y, "value:Q", "norm product, max |L|")
    what = ["norm product", "max |L|"]
    layers = [
        # max |L| is dashed, for it often covers the norm product, which it cannot exceed.
        alt.Chart(alt.Data(values=found))
        .mark_line(point=alt.OverlayMarkDef(size=50))
        .encode(
            x=x,
            y=y,
            color=alt.Color(
                "what:N", title=None, scale=alt.Scale(domain=what, range=[INK, "#e90"])
            ),
            strokeDash=alt.StrokeDash(
                "what:N", title=None, scale=alt.Scale(domain=what, range=[[1, 0], [6, 6]])
            ),
            shape=alt.Shape("method:N", title="found by"),
            tooltip=["dim:Q", "what:N", "value:Q", "method:N"],
        )
    ]
    levels = (
        (theory.paper_norm, "equation (9)", GREY, -6),
        (theory.norm_lower_bound or None, "no witness below", RED, 11),
    )
    for level, name, colour, dy in levels:
        if level is not None and 0 < level < math.inf:
            line = alt.Chart(alt.Data(values=[{"value": level, "name": name}]))
            layers.append(line.mark_rule(color=colour, strokeDash=[2, 3]).encode(y=y))
            words = line.mark_text(align="left", dx=6, dy=dy, color=colour, x=0)
            layers.append(words.encode(y=y, text="name:N"))
    bounds = ((theory.bound_6, "bound (6)", -22), (theory.bound_sharper, "sharper bound", -10))
    for dim, name, dy in bounds:
        if dim is not None and theory.paper_norm is not None:
            mark = alt.Chart(
                alt.Data(values=[{"dim": dim, "value": theory.paper_norm, "name": name}])
            )
            layers.append(mark.mark_point(filled=True, color=GREY).encode(x=x, y=y))
            layers.append(mark.mark_text(dy=dy, color=GREY).encode(x=x, y=y, text="name:N"))
    rows, columns = drawn.pattern.shape
    return alt.layer(*layers).properties(
        width=440,
        height=280,
        title=f"Dimension against norm: {rows} × {columns}, {drawn.conditions}",
    )
