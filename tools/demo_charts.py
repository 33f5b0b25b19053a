"""The pictures of the demo page: maps of attention as PNG, and charts as inline SVG that follows
the page's colours."""

import base64
import html
import json
import struct
import zlib
from pathlib import Path

import altair as alt
import numpy as np
import vl_convert
from chart_svg import chart_svg

# From dark to light in even steps of lightness, legible without colour vision and on a light or a
# dark background.
RAMP = ["#10142e", "#24305e", "#2a5878", "#2f8079", "#63a66c", "#b6c566", "#fff1a8"]
FLOOR = 1e-5  # smaller weights are drawn with the colour of this one
INK = "#010203"  # stands for the page's text colour, which differs by light and dark
BINS = 256  # columns of a map
CERTIFIED, MEASURED = "#c8762b", "#3b82b5"
# Names of rows stand to the left of the rows. Vega's default alignment to the right would end them
# at different places.
ROW_NAMES = alt.Header(labelAngle=0, labelAlign="left", labelPadding=16)


def ranks(tokens):
    """Returns the numbers of keys at which the curves are drawn, evenly spaced in the
    logarithm."""
    return np.unique(np.geomspace(1, tokens, 60).astype(int))


def chunk(kind, data):
    return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))


def png_file(header, rows):
    """Returns a PNG file, given its header's fields and its rows, each with its filter byte."""
    data = zlib.compress(rows, 9)
    return (
        b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", header) + chunk(b"IDAT", data) + chunk(b"IEND", b"")
    )


def png(pixels):
    """Returns a PNG file of an array of bytes, rows x columns x 4."""
    rows, columns, _ = pixels.shape
    header = struct.pack(">IIBBBBB", columns, rows, 8, 6, 0, 0, 0)
    return png_file(header, b"".join(b"\0" + row.tobytes() for row in pixels))


def recompressed(file):
    """Returns the same picture in fewer bytes, since vl-convert compresses fast rather than
    well."""
    at, header, data = 8, b"", b""
    while at < len(file):
        length, kind = struct.unpack(">I4s", file[at : at + 8])
        content = file[at + 8 : at + 8 + length]
        header, data = (
            (content if kind == b"IHDR" else header),
            data + (content if kind == b"IDAT" else b""),
        )
        at += 12 + length
    return png_file(header, zlib.decompress(data))


def data_uri(data):
    return "data:image/png;base64," + base64.b64encode(data).decode()


def colours(weights):
    """Returns the pixels of a map with logarithmic colours, transparent where there is nothing to
    see."""
    anchors = np.array([[int(colour[i : i + 2], 16) for i in (1, 3, 5)] for colour in RAMP], float)
    place = (
        np.log(np.clip(np.nan_to_num(weights), FLOOR, 1) / FLOOR) / -np.log(FLOOR) * (len(RAMP) - 1)
    )
    place = np.rint(place * 8) / 8  # few levels compress better, and the eye sees no steps
    low = np.clip(place.astype(int), 0, len(RAMP) - 2)
    part = (place - low)[..., None]
    pixels = np.empty((*weights.shape, 4), np.uint8)
    pixels[..., :3] = np.rint(anchors[low] * (1 - part) + anchors[low + 1] * part)
    pixels[..., 3] = np.where(np.isnan(weights), 0, 255)
    return pixels


def enlarged(pixels, times):
    return pixels.repeat(times, axis=0).repeat(times, axis=1)


def powers_of_ten(exponents):
    """Returns a Vega expression that labels axes and legends 10⁻³ instead of 1e-3."""
    small = str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹")
    cases = [
        f"abs(datum.value / 1e{e} - 1) < 0.01 ? '10{str(e).translate(small)}'"
        for e in exponents
        if e
    ]
    return " : ".join(cases) + " : format(datum.value, '~g')"


def styled(chart, ground="transparent"):
    quiet = {"labelColor": INK, "titleColor": INK, "titleFontWeight": "normal"}
    return (
        chart.configure(background=ground, padding=4 if ground == "transparent" else 16, font="system-ui, sans-serif")
        .configure_axis(domainOpacity=0.35, tickOpacity=0.35, domainColor=INK, tickColor=INK, gridColor=INK,
                        gridOpacity=0.09, labelFontSize=11, titleFontSize=12, **quiet)
        .configure_legend(labelFontSize=11, titleFontSize=12, **quiet)
        .configure_header(labelColor=INK, labelFontSize=12, titleColor=INK)
        .configure_view(stroke=None)
        .configure_title(color=INK)
    )  # fmt: skip


def svg(chart, label):
    """Returns inline SVG whose text follows the colours of the page."""
    return inline(styled(chart).to_dict(), label)


def inline(spec, label):
    text = chart_svg(spec)
    text = text[text.index("<svg") :].replace(INK, "currentColor")
    return text.replace("<svg", f'<svg role="img" aria-label="{html.escape(label, quote=True)}"', 1)


def drawn(file, label):
    """Returns inline SVG of a Vega-Lite file without its title, since the page has one."""
    spec = json.loads(Path(file).read_text())
    del spec["title"]
    spec["config"] = styled(alt.Chart(alt.Data(values=[])).mark_point()).to_dict()["config"]
    return inline(spec, label)


def map_chart(head, positions, tokens, width, height, smooth=True):
    """Returns a map with queries downwards, keys to the right, and a legend of the colours."""
    x = alt.Scale(domain=[0, tokens], nice=False, zero=False)
    # Rows are queries in the order of their positions. The axis names about eight positions.
    order = np.argsort(positions, kind="stable")
    ordered = positions[order]
    marks = list(range(0, len(ordered), max(1, len(ordered) // 8)))
    names = " : ".join(f"datum.value == {i} ? '{ordered[i]:,}'" for i in marks) + " : ''"
    y = alt.Scale(domain=[0, len(ordered)], reverse=True, nice=False)
    picture = data_uri(png(enlarged(colours(head.map[order]), 3 if smooth else 1)))
    frame = alt.Chart(
        alt.Data(values=[{"x": 0, "y": 0, "x2": tokens, "y2": len(ordered), "url": picture}])
    )
    image = frame.transform_calculate(xm="(datum.x + datum.x2) / 2", ym="(datum.y + datum.y2) / 2").mark_image(
        width=width, height=height, aspect=False, smooth=smooth
    ).encode(
        x=alt.X("xm:Q", scale=x, title="key: position in the text", axis=alt.Axis(format=",d", grid=False, tickCount=8)),
        y=alt.Y("ym:Q", scale=y, title="query: position in the text",
                axis=alt.Axis(values=marks, labelExpr=names, grid=False, titlePadding=14)),
        url="url:N",
    )  # fmt: skip
    legend = alt.Chart(alt.Data(values=[{"w": FLOOR, "x": 0, "y": 0}, {"w": 1, "x": 0, "y": 0}])).mark_point(
        opacity=0, size=0
    ).encode(
        x=alt.X("x:Q", scale=x), y=alt.Y("y:Q", scale=y),
        color=alt.Color("w:Q", title=f"attention in {tokens // BINS} neighbouring keys",
                        scale=alt.Scale(type="log", domain=[FLOOR, 1], range=RAMP, interpolate="rgb"),
                        legend=alt.Legend(orient="top", direction="horizontal", gradientLength=260,
                                          values=[10.0**e for e in range(-5, 1)], gradientOpacity=1,
                                          labelExpr=powers_of_ten(range(-5, 1)), titleLimit=400)),
    )  # fmt: skip
    return (image + legend).properties(width=width, height=height)


def error_chart(layers):
    """Returns histograms of the queries' errors, measured and certified. `layers` is a list of
    (layer, measured, certified)."""
    values = np.concatenate([errors for _, *both in layers for errors in both])
    low, high = (
        int(f(np.log10(values[values > 0]).clip(-9)))
        for f in (lambda x: np.floor(x.min()), lambda x: np.ceil(x.max()))
    )
    edges = np.linspace(low, high, 10 * (high - low) + 1)
    rows = []
    for layer, *both in layers:
        for kind, errors in zip(("measured", "certified"), both, strict=True):
            counts, _ = np.histogram(np.log10(np.maximum(errors, 10.0**low)), edges)
            rows += [
                {
                    "layer": f"layer {layer}",
                    "error": 10**left,
                    "to": 10**right,
                    "queries": int(n),
                    "kind": kind,
                }
                for left, right, n in zip(edges[:-1], edges[1:], counts, strict=True)
                if n
            ]
    exponents = range(low, high + 1)
    return (
        alt.Chart(alt.Data(values=rows))
        .mark_rect(opacity=0.85)
        .encode(
            x=alt.X("error:Q", scale=alt.Scale(type="log", domain=[10.0**low, 10.0**high]),
                    title="distance from exact attention",
                    axis=alt.Axis(labelExpr=powers_of_ten(exponents), values=[10.0**e for e in exponents])),
            x2="to:Q",
            y=alt.Y("queries:Q", title="queries", axis=alt.Axis(tickCount=3, titlePadding=8)),
            color=alt.Color("kind:N", scale=alt.Scale(domain=["measured", "certified"], range=[MEASURED, CERTIFIED]),
                            legend=alt.Legend(orient="top", title=None)),
            row=alt.Row("layer:N", sort=[f"layer {layer}" for layer, *_ in layers], title=None,
                        header=ROW_NAMES),
        )
        .properties(width=740, height=66)
        .resolve_scale(y="shared")
    )  # fmt: skip


def curve_chart(heads, tokens):
    """Returns one small chart for every head: the mass of the heaviest keys against their
    number."""
    rows, marks = [], []
    for head in heads:
        name = {"layer": f"layer {head.layer}", "head": f"head {head.head}"}
        rows += [
            name | {"keys": int(n), "low": low, "mass": mid, "high": high}
            for n, low, mid, high in zip(ranks(tokens), *head.curve, strict=True)
        ]
        marks.append(
            name | {"keys": head.keys_for_95, "mass": 0.95, "text": f"{head.keys_for_95:,} keys"}
        )
    layers = sorted({head.layer for head in heads})
    heads_in_row = sorted({head.head for head in heads})
    # All marks share one list of rows, since a facet needs one. Rows without a text are the curve.
    base = alt.Chart(alt.Data(values=rows + marks))
    x = alt.X("keys:Q", scale=alt.Scale(type="log", domain=[1, tokens], nice=False),
              title="heaviest keys kept", axis=alt.Axis(values=[1, 10, 100, 1000], format=",d"))  # fmt: skip
    y_axis = alt.Axis(format="%", values=[0, 0.5, 1])
    curve = base.transform_filter("!datum.text")
    band = curve.mark_area(color=MEASURED, opacity=0.25).encode(
        x=x,
        y=alt.Y("low:Q", title="attention kept", axis=y_axis, scale=alt.Scale(domain=[0, 1])),
        y2="high:Q",
    )
    line = curve.mark_line(color=MEASURED, strokeWidth=2).encode(x=x, y=alt.Y("mass:Q"))
    chosen = base.transform_filter("datum.text")
    dot = chosen.mark_point(color=CERTIFIED, filled=True, size=50, opacity=1).encode(
        x=x, y="mass:Q"
    )
    # The text stands below the dot and to its right, away from the curve, which rises to the left.
    text = chosen.mark_text(
        align="left", baseline="top", dx=4, dy=5, fontSize=11, color=INK
    ).encode(x=x, y="mass:Q", text="text:N")
    return (
        (band + line + dot + text)
        .properties(width=228, height=112)
        .facet(
            row=alt.Row(
                "layer:N", sort=[f"layer {n}" for n in layers], title=None, header=ROW_NAMES
            ),
            column=alt.Column("head:N", sort=[f"head {n}" for n in heads_in_row], title=None),
            spacing=18,
        )
    )


def growth_chart(heads):
    """Returns one small chart for every head: keys needed against keys seen, for the ranges of
    length of a profile."""
    rows = [
        {
            "layer": f"layer {head['layer']}",
            "head": f"head {head['head']}",
            "n": part["n"],
            "low": part["k_eps"]["p10"],
            "k": part["k_eps"]["median"],
            "high": part["k_eps"]["p90"],
            "law": part["law"],
            "null": part["null"],
        }
        for head in heads
        for part in head["growth"]
    ]
    layers = [f"layer {n}" for n in sorted({head["layer"] for head in heads})]
    columns = [f"head {n}" for n in sorted({head["head"] for head in heads})]
    lengths = [row["n"] for row in rows]
    ends = [0.85 * min(lengths), 1.18 * max(lengths)]
    base = alt.Chart(alt.Data(values=rows)).encode(
        x=alt.X("n:Q", scale=alt.Scale(type="log", domain=ends, nice=False), title="keys seen",
                axis=alt.Axis(values=[1000, 2000, 4000, 8000], format=",d"))
    )  # fmt: skip
    y = alt.Scale(type="log")
    bar = base.mark_rule(color=MEASURED, opacity=0.45, strokeWidth=3).encode(
        y=alt.Y("low:Q", scale=y, title="keys needed", axis=alt.Axis(values=[10, 100, 1000, 10000], format=",d")),
        y2="high:Q",
    )  # fmt: skip
    dot = base.mark_point(color=MEASURED, filled=True, size=34, opacity=1).encode(
        y=alt.Y("k:Q", scale=y)
    )
    law = base.mark_line(color=CERTIFIED, strokeWidth=2).encode(y=alt.Y("law:Q", scale=y))
    null = base.mark_line(color=INK, opacity=0.5, strokeWidth=1.2, strokeDash=[4, 3]).encode(
        y=alt.Y("null:Q", scale=y)
    )
    return (
        (null + bar + law + dot)
        .properties(width=228, height=112)
        .facet(
            row=alt.Row("layer:N", sort=layers, title=None, header=ROW_NAMES),
            column=alt.Column("head:N", sort=columns, title=None),
            spacing=18,
        )
    )


def frontier_chart(frontier):
    """Returns a chart of the norm product against the dimension, both logarithmic, with two
    horizontal levels."""
    points = [
        {"dim": point["dim"], "norm": point["norm_product"], "method": point["method"]}
        for point in frontier["points"]
        if point["verified"]
    ]
    dims = [point["dim"] for point in points]
    x = alt.X("dim:Q", scale=alt.Scale(type="log", domain=[0.9 * dims[0], 1.15 * dims[-1]], nice=False),
              title="columns of q and k", axis=alt.Axis(values=dims, format="d", grid=False))  # fmt: skip
    y = alt.Y(
        "norm:Q",
        scale=alt.Scale(type="log"),
        title="norm product",
        axis=alt.Axis(tickCount=5, format="~s"),
    )
    found = alt.Chart(alt.Data(values=points)).encode(x=x, y=y)
    line = found.mark_line(color=MEASURED, strokeWidth=2)
    dots = found.mark_point(filled=True, size=60, opacity=1, color=MEASURED)
    names = found.mark_text(align="left", dx=8, dy=-8, color=INK).encode(
        text=alt.Text("norm:Q", format=",.3~r")
    )

    def level(value, words, colour, up):
        data = alt.Data(values=[{"norm": value, "dim": dims[0], "words": words}])
        rule = alt.Chart(data).mark_rule(color=colour, strokeDash=[5, 4]).encode(y="norm:Q")
        label = alt.Chart(data).mark_text(align="left", dy=up, color=colour, fontSize=11)
        return rule + label.encode(x="dim:Q", y="norm:Q", text="words:N")

    chart = (
        level(frontier["paper_norm"], "the matrix that the paper projects", "#888888", -8)
        + line
        + dots
        + names
    )
    if frontier["lower_bound"] > 0:
        chart += level(frontier["lower_bound"], "no witness below", "#c0392b", 10)
    return chart.properties(width=640, height=260)


def reading_chart(curves, budgets):
    """Returns a chart of the share of the dense bytes that a query reads against the keys it sees.
    `curves` is a list of (layer, budget, keys seen, p10, median, p90)."""
    rows = [
        {
            "layer": f"layer {layer}",
            "budget": budget,
            "keys": int(n),
            "low": low,
            "share": mid,
            "high": high,
        }
        for layer, budget, *columns in curves
        for n, low, mid, high in zip(*columns, strict=True)
    ]
    colour = alt.Color(
        "budget:N",
        scale=alt.Scale(domain=budgets, range=[CERTIFIED, MEASURED]),
        legend=alt.Legend(orient="top", title=None, symbolOpacity=1, symbolType="square"),
    )
    base = alt.Chart(alt.Data(values=rows)).encode(
        x=alt.X("keys:Q", title="keys seen", axis=alt.Axis(format=",d", tickCount=4)), color=colour
    )
    percent = alt.Axis(format="%", tickCount=4)
    band = base.mark_area(opacity=0.2).encode(
        y=alt.Y("low:Q", title="bytes read, of dense", axis=percent, scale=alt.Scale(zero=True)),
        y2="high:Q",
    )
    line = base.mark_line(strokeWidth=2).encode(y="share:Q")
    layers = list(dict.fromkeys(row["layer"] for row in rows))
    return (
        (band + line)
        .properties(width=228, height=150)
        .facet(column=alt.Column("layer:N", sort=layers, title=None), spacing=18)
    )


def trade_chart(points, budgets):
    """Returns a chart of error against bytes read. `points` is a list of (budget, layer, head,
    share of the bytes, measured error, certified error)."""
    rows = [
        {
            "budget": budget,
            "head": f"layer {layer} head {head}",
            "share": share,
            "kind": kind,
            "error": error,
        }
        for budget, layer, head, share, measured, certified in points
        for kind, error in (("measured", measured), ("certified", certified))
    ]
    exponents = range(
        int(np.floor(np.log10(min(row["error"] for row in rows)))),
        int(np.ceil(np.log10(max(row["error"] for row in rows)))) + 1,
    )
    return (
        alt.Chart(alt.Data(values=rows))
        .mark_point(filled=True, size=52, opacity=0.85)
        .encode(
            x=alt.X("share:Q", title="bytes read, of dense", axis=alt.Axis(format="%", tickCount=6),
                    scale=alt.Scale(zero=True)),
            y=alt.Y("error:Q", title="error, of the output's length",
                    scale=alt.Scale(type="log", domain=[10.0 ** exponents[0], 10.0 ** exponents[-1]]),
                    axis=alt.Axis(labelExpr=powers_of_ten(exponents), values=[10.0**e for e in exponents])),
            color=alt.Color("kind:N", scale=alt.Scale(domain=["measured", "certified"], range=[MEASURED, CERTIFIED]),
                            legend=alt.Legend(orient="top", title=None)),
            shape=alt.Shape("budget:N", scale=alt.Scale(domain=budgets), legend=alt.Legend(orient="top", title=None)),
        )
        .properties(width=640, height=260)
    )  # fmt: skip


def head_picture(head, positions, tokens):
    """Returns the map of one head as PNG on a light background."""
    # Every cell is two pixels without smoothing, which is sharp and compresses well.
    chart = map_chart(head, positions, tokens, 2 * BINS, 2 * len(positions), smooth=False)
    text = styled(chart, ground="#fbfaf7").to_json().replace(INK, "#1d2330")
    text = text.replace("system-ui, sans-serif", "sans-serif")
    return recompressed(vl_convert.vegalite_to_png(text, scale=1))
