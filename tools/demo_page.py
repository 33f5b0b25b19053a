#!/usr/bin/env python3
"""One self-contained HTML page about dense attention on a trace: what was computed, how far it is from
the truth, and what attention looks like.

Reads the trace, the result of `tamis attend TRACE --dense --check --out RESULT --json > REPORT`, and
nothing else. Weights are p = exp(scale * q.k - lse) with the lse that tamis computed; errors are measured
again here, in f64 with numpy, independently of tamis. Memory: a few matrices of queries x tokens.

    tools/demo_page.py TRACE RESULT REPORT --page index.html
    tools/demo_page.py TRACE RESULT REPORT --picture head.png --head 12:2
"""

import argparse
import base64
import hashlib
import html
import json
import struct
import sys
import zlib
from dataclasses import dataclass
from pathlib import Path

import altair as alt
import numpy as np
import vl_convert
from safetensors import safe_open

# From dark to light in even steps of lightness, legible without colour vision and on either background.
RAMP = ["#10142e", "#24305e", "#2a5878", "#2f8079", "#63a66c", "#b6c566", "#fff1a8"]
FLOOR = 1e-5  # weights below this are drawn as this
INK = "#010203"  # stands for the page's text colour, which differs by light and dark
BINS = 256
CERTIFIED, MEASURED = "#c8762b", "#3b82b5"


@dataclass
class Head:
    layer: int
    head: int
    map: np.ndarray  # queries x BINS: attention summed over neighbouring keys; NaN where no key is seen
    curve: np.ndarray  # 3 x len(ranks): p10, median, p90 of the mass of the heaviest keys
    keys_for_95: int  # median number of keys that carry 95 % of a query's attention
    first_token: float  # median share of the first token
    error: np.ndarray  # per query, measured here in f64
    certified: np.ndarray  # per query, by tamis
    worst_sum: float  # largest |sum of p - 1|


def read(path):
    with safe_open(path, framework="np") as file:
        names = file.keys()
        return {name: file.get_tensor(name) for name in names}, file.metadata()


def ranks(tokens):
    """Numbers of keys at which the curves are drawn: evenly spaced in the logarithm."""
    return np.unique(np.geomspace(1, tokens, 60).astype(int))


def study(trace, scale, result, layer, head):
    q = trace[f"layers.{layer}.q"].astype(np.float64)
    k = trace[f"layers.{layer}.k"].astype(np.float64)
    v = trace[f"layers.{layer}.v"].astype(np.float64)
    group = q.shape[0] // k.shape[0]
    logits = scale * (q[head] @ k[head // group].T)
    tokens = logits.shape[1]
    seen = np.arange(tokens)[None, :] <= trace["positions"][:, None]
    logits[~seen] = -np.inf

    peak = logits.max(axis=1, keepdims=True)
    exact = np.exp(logits - peak)
    exact /= exact.sum(axis=1, keepdims=True)
    out = result[f"layers.{layer}.out"][head]
    error = np.linalg.norm(out - exact @ v[head // group], axis=1)

    p = np.exp(logits - result[f"layers.{layer}.lse"][head][:, None].astype(np.float64))
    edges = np.linspace(0, tokens, BINS + 1).astype(int)[:-1]
    pooled = np.add.reduceat(p, edges, axis=1)
    pooled[~seen[:, edges]] = np.nan
    heaviest = np.cumsum(-np.sort(-p, axis=1), axis=1)
    return Head(
        layer,
        head,
        pooled,
        np.quantile(heaviest[:, ranks(tokens) - 1], [0.1, 0.5, 0.9], axis=0),
        int(np.median(np.argmax(heaviest >= 0.95, axis=1) + 1)),
        float(np.median(p[:, 0])),
        error,
        result[f"layers.{layer}.error"][head],
        float(np.abs(p.sum(axis=1) - 1).max()),
    )


# ---- pictures ----


def chunk(kind, data):
    return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))


def png_file(header, rows):
    """A PNG file from its header's fields and its rows, each with its filter byte."""
    data = zlib.compress(rows, 9)
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", header) + chunk(b"IDAT", data) + chunk(b"IEND", b"")


def png(pixels):
    """A PNG file of an array rows x columns x 4 of bytes."""
    rows, columns, _ = pixels.shape
    header = struct.pack(">IIBBBBB", columns, rows, 8, 6, 0, 0, 0)
    return png_file(header, b"".join(b"\0" + row.tobytes() for row in pixels))


def recompressed(file):
    """The same picture in fewer bytes: vl-convert compresses fast rather than well."""
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
    """Pixels of a map, logarithmic, transparent where there is nothing to see."""
    anchors = np.array([[int(colour[i : i + 2], 16) for i in (1, 3, 5)] for colour in RAMP], float)
    place = np.log(np.clip(np.nan_to_num(weights), FLOOR, 1) / FLOOR) / -np.log(FLOOR) * (len(RAMP) - 1)
    place = np.rint(place * 8) / 8  # levels that the eye does not tell apart, but compression does
    low = np.clip(place.astype(int), 0, len(RAMP) - 2)
    part = (place - low)[..., None]
    pixels = np.empty((*weights.shape, 4), np.uint8)
    pixels[..., :3] = np.rint(anchors[low] * (1 - part) + anchors[low + 1] * part)
    pixels[..., 3] = np.where(np.isnan(weights), 0, 255)
    return pixels


def enlarged(pixels, times):
    return pixels.repeat(times, axis=0).repeat(times, axis=1)


def powers_of_ten(exponents):
    """An expression that labels axes and legends 10⁻³ instead of 1e-3."""
    small = str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹")
    cases = [f"abs(datum.value / 1e{e} - 1) < 0.01 ? '10{str(e).translate(small)}'" for e in exponents if e]
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
    """Inline SVG whose text follows the colours of the page."""
    text = vl_convert.vegalite_to_svg(styled(chart).to_json())
    text = text[text.index("<svg") :].replace(INK, "currentColor")
    return text.replace("<svg", f'<svg role="img" aria-label="{html.escape(label, quote=True)}"', 1)


def map_chart(head, positions, tokens, width, height, smooth=True):
    """Queries downwards, keys to the right, with the legend of the colours."""
    x = alt.Scale(domain=[0, tokens], nice=False, zero=False)
    # Rows are queries in the order of their positions; the axis names the position of every 32nd.
    order = np.argsort(positions, kind="stable")
    ordered = positions[order]
    marks = list(range(0, len(ordered), max(1, len(ordered) // 8)))
    names = " : ".join(f"datum.value == {i} ? '{ordered[i]:,}'" for i in marks) + " : ''"
    y = alt.Scale(domain=[0, len(ordered)], reverse=True, nice=False)
    picture = data_uri(png(enlarged(colours(head.map[order]), 3 if smooth else 1)))
    frame = alt.Chart(alt.Data(values=[{"x": 0, "y": 0, "x2": tokens, "y2": len(ordered), "url": picture}]))
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


def error_chart(heads):
    """How many queries have which error, measured and certified, layer by layer."""
    edges = np.arange(-8, -1.5, 0.1)
    rows = []
    for layer in sorted({head.layer for head in heads}):
        for kind, field in (("measured", "error"), ("certified", "certified")):
            values = np.concatenate([getattr(head, field) for head in heads if head.layer == layer])
            counts, _ = np.histogram(np.log10(np.maximum(values, 1e-8)), edges)
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
    order = sorted({row["layer"] for row in rows}, key=lambda name: int(name.split()[1]))
    return (
        alt.Chart(alt.Data(values=rows))
        .mark_rect(opacity=0.85)
        .encode(
            x=alt.X("error:Q", scale=alt.Scale(type="log", domain=[1e-8, 1e-1]), title="distance from exact attention",
                    axis=alt.Axis(labelExpr=powers_of_ten(range(-8, 0)),
                                  values=[10.0**e for e in range(-8, 0)])),
            x2="to:Q",
            y=alt.Y("queries:Q", title="queries", axis=alt.Axis(tickCount=3, titlePadding=8)),
            color=alt.Color("kind:N", scale=alt.Scale(domain=["measured", "certified"], range=[MEASURED, CERTIFIED]),
                            legend=alt.Legend(orient="top", title=None)),
            row=alt.Row("layer:N", sort=order, title=None,
                        header=alt.Header(labelAngle=0, labelAlign="left", labelPadding=16)),
        )
        .properties(width=740, height=66)
        .resolve_scale(y="shared")
    )  # fmt: skip


def curve_chart(heads, tokens):
    """Mass of the heaviest keys against their number: one small chart for every head."""
    rows, marks = [], []
    for head in heads:
        name = {"layer": f"layer {head.layer}", "head": f"head {head.head}"}
        rows += [
            name | {"keys": int(n), "low": low, "mass": mid, "high": high}
            for n, low, mid, high in zip(ranks(tokens), *head.curve, strict=True)
        ]
        marks.append(name | {"keys": head.keys_for_95, "mass": 0.95, "text": f"{head.keys_for_95:,} keys"})
    layers = sorted({head.layer for head in heads})
    heads_in_row = sorted({head.head for head in heads})
    # One file of rows for all marks, since a facet needs one: rows without a text are the curve.
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
    dot = chosen.mark_point(color=CERTIFIED, filled=True, size=50, opacity=1).encode(x=x, y="mass:Q")
    # Below the dot and away from the curve, which rises to the left of it.
    text = chosen.mark_text(align="left", baseline="top", dx=4, dy=5, fontSize=11, color=INK).encode(
        x=x, y="mass:Q", text="text:N"
    )
    return (
        (band + line + dot + text)
        .properties(width=228, height=112)
        .facet(
            row=alt.Row(
                "layer:N", sort=[f"layer {n}" for n in layers], title=None, header=alt.Header(labelAngle=0)
            ),
            column=alt.Column("head:N", sort=[f"head {n}" for n in heads_in_row], title=None),
            spacing=18,
        )
    )


# ---- the page ----

STYLE = """
:root { color-scheme: light dark; --ink: #1d2330; --soft: #5b6475; --paper: #fbfaf7; --line: #dcdad2;
        --card: #ffffff; --accent: #2f6f8f; }
@media (prefers-color-scheme: dark) { :root { --ink: #e8e6df; --soft: #a3aab8; --paper: #14171f; --line: #2e3442;
        --card: #1b1f2a; --accent: #7fc1d8; } }
* { box-sizing: border-box; }
body { margin: 0; background: var(--paper); color: var(--ink);
       font: 16px/1.6 system-ui, -apple-system, "Segoe UI", Roboto, "Helvetica Neue", sans-serif; }
main { max-width: 60rem; margin: 0 auto; padding: 3.5rem 1.5rem 5rem; }
h1 { font: 600 2.5rem/1.15 Charter, "Bitstream Charter", "Iowan Old Style", Georgia, serif; margin: 0 0 .6rem;
     letter-spacing: -.01em; }
h2 { font: 600 1.45rem/1.25 Charter, "Bitstream Charter", "Iowan Old Style", Georgia, serif; margin: 3.2rem 0 .6rem; }
p { max-width: 44rem; margin: .6rem 0; }
.lead { font-size: 1.12rem; color: var(--soft); }
.tiles { display: grid; grid-template-columns: repeat(auto-fit, minmax(9.6rem, 1fr)); gap: .8rem; margin: 2rem 0 0; }
.tile { background: var(--card); border: 1px solid var(--line); border-radius: .6rem; padding: .9rem 1rem; }
.tile b { display: block; white-space: nowrap; font: 600 1.4rem/1.2 Charter, "Bitstream Charter", Georgia, serif;
          font-variant-numeric: tabular-nums; }
.tile span { color: var(--soft); font-size: .86rem; line-height: 1.35; display: block; margin-top: .25rem; }
.scroll { overflow-x: auto; }
table { border-collapse: collapse; font-variant-numeric: tabular-nums; font-size: .93rem; margin: 1rem 0 .4rem; width: 100%; }
th, td { text-align: right; padding: .42rem .7rem; border-bottom: 1px solid var(--line); white-space: nowrap; }
th:first-child, td:first-child { text-align: left; padding-left: 0; }
thead th { font-weight: 500; color: var(--soft); font-size: .84rem; vertical-align: bottom; }
figure { margin: 1.4rem 0 0; }
figure svg, figure img { max-width: 100%; height: auto; }
figcaption, .source { color: var(--soft); font-size: .86rem; line-height: 1.5; margin-top: .5rem; max-width: 46rem; }
.maps { display: grid; grid-template-columns: repeat(3, 1fr); gap: 1.1rem; }
.maps figure { margin: 0; }
.maps img { width: 100%; aspect-ratio: 1; border-radius: .3rem; image-rendering: auto; display: block; }
code { font: .88em ui-monospace, "SF Mono", Menlo, Consolas, "DejaVu Sans Mono", monospace; }
sup { font-size: .68em; line-height: 0; }
pre { background: var(--card); border: 1px solid var(--line); border-radius: .6rem; padding: .9rem 1rem; overflow-x: auto;
      line-height: 1.5; }
dl { display: grid; grid-template-columns: max-content 1fr; gap: .3rem 1.2rem; font-size: .93rem; margin: 1rem 0; }
dt { color: var(--soft); } dd { margin: 0; overflow-wrap: anywhere; }
@media (max-width: 40rem) { .maps { grid-template-columns: repeat(2, 1fr); } h1 { font-size: 2rem; } }
"""


def power(value):
    """6.2e-06 as 6.2 × 10⁻⁶."""
    mantissa, exponent = f"{value:.1e}".split("e")
    return f"{mantissa} × 10<sup>{int(exponent)}</sup>".replace("-", "−")


def tile(number, words):
    return f'<div class="tile"><b>{number}</b><span>{words}</span></div>'


def layer_table(report, heads):
    rows = []
    for layer in report["layers"]:
        measured = max(head.error.max() for head in heads if head.layer == layer["layer"])
        cells = [
            f"layer {layer['layer']}",
            f"{layer['query_heads']} on {layer['kv_heads']}",
            f"{layer['query_heads'] * layer['queries']:,}",
            f"{1e3 * layer['seconds']:.0f} ms",
            f"{layer['bytes'] / 1e6:.0f} MB",
            power(layer["error"]["max"]),
            power(layer["error"]["true"]["max"]),
            power(measured),
            str(layer["violations"]),
        ]
        rows.append("<tr>" + "".join(f"<td>{cell}</td>" for cell in cells) + "</tr>")
    names = ["", "heads on<br>KV heads", "queries", "time", "K and V", "error,<br>certified", "error, true<br>(tamis, f64)",
             "error, true<br>(numpy, f64)", "violations"]  # fmt: skip
    heading = "".join(f"<th>{name}</th>" for name in names)
    return f'<div class="scroll"><table><thead><tr>{heading}</tr></thead><tbody>{"".join(rows)}</tbody></table></div>'


def thumbnails(heads, positions):
    order = np.argsort(positions, kind="stable")
    figures = []
    for head in heads:
        label = f"layer {head.layer}, head {head.head}"
        figures.append(
            f'<figure><img alt="Attention of {label}" src="{data_uri(png(colours(head.map[order])))}">'
            f"<figcaption>{label}: half of the queries need {head.keys_for_95:,} keys or fewer for 95 %; "
            f"first token {head.first_token:.0%}</figcaption></figure>"
        )
    return f'<div class="maps">{"".join(figures)}</div>'


def page(args, trace, metadata, report, heads, shown):
    tokens = trace[f"layers.{shown.layer}.k"].shape[1]
    positions = trace["positions"]
    names = {path: html.escape(Path(path).name) for path in (args.trace, args.result, args.report)}
    source = f"{names[args.report]}, printed by the command below"
    above = sum(int((head.error > head.certified).sum()) for head in heads)
    keys = sorted(head.keys_for_95 for head in heads)
    ratio = report["error"]["max"] / max(head.error.max() for head in heads)
    digests = {
        path: hashlib.sha256(Path(path).read_bytes()).hexdigest() for path in (args.trace, args.result)
    }
    tiles = [
        tile(
            f"{report['queries']:,}", f"queries, over {tokens:,} tokens, in {len(report['layers'])} layers"
        ),
        tile(str(report["violations"]), "certificates violated, when checked against f64"),
        tile(power(report["error"]["max"]), "largest certified error"),
        tile(power(report["error"]["true"]["max"]), "largest true error"),
        tile(
            f"{1e3 * report['seconds']:.0f} ms",
            f"for all of it, {report['threads']} threads, {report['target']}",
        ),
    ]
    command = f"tamis attend {args.trace} --dense --check --out {Path(args.result).name} --json"
    body = f"""
<h1>Attention, exact and certified</h1>
<p class="lead">Dense attention of {html.escape(metadata.get("model", "a model"))}, reading
{html.escape(metadata.get("text", "a text"))}. Each output comes with a bound on its distance from exact attention, and each
bound was tested.</p>
<div class="tiles">{"".join(tiles)}</div>
<p class="source">From {source}.</p>

<h2>What was computed, and how far it is from the truth</h2>
<p>tamis computed every query in f32 and proved, from the norms of queries, keys and values, how far rounding can have moved
the output. Then the same attention was computed in f64, twice: by tamis in plain loops and by numpy for this page.
A bound holds for the worst case, so it is larger than what happens: the largest bound is {ratio:,.0f} times the largest
error.</p>
{layer_table(report, heads)}
<p class="source">Largest values over the queries of a layer. Time, bytes (once per KV head and query), certified and first true
error: {source}. Second true error: from q, k, v of {names[args.trace]} and the outputs in {names[args.result]}.</p>
<figure>{svg(error_chart(heads), "Histogram of measured and certified errors by layer")}
<figcaption>Every query once as measured (numpy, f64) and once as certified. Measured errors above
their certificate: {above}. From {names[args.trace]} and {names[args.result]}.</figcaption></figure>

<h2>A head at work</h2>
<p>Layer {shown.layer}, head {shown.head}. Each line is a query, at its place in the text, and shows where it looks among the
tokens before it; the empty corner is the future. The scale is logarithmic: most of the picture is nearly nothing.
Half of the queries find 95 % of their attention in {shown.keys_for_95:,} keys or fewer, of up to {tokens:,}.</p>
<figure>{svg(map_chart(shown, positions, tokens, 800, 600), f"Map of attention of layer {shown.layer}, head {shown.head}")}
<figcaption>Weights p = exp(scale · q·k − lse), with q and k of {names[args.trace]} and the log-sum-exp in
{names[args.result]}, summed over {tokens // BINS} neighbouring keys. If the log-sum-exp is right, each line sums to 1; over all
heads and queries it does to within {power(max(head.worst_sum for head in heads))}.</figcaption></figure>

<h2>Every head has its own habits</h2>
<p>Some look at what is near, some at the first token, some everywhere. The same picture for each head of the trace:</p>
{thumbnails(heads, positions)}
<p class="source">Axes and colours as above. Numbers are medians over {len(positions)} queries, computed from
{names[args.trace]} and {names[args.result]}.</p>

<h2>How fast attention concentrates</h2>
<p>Sort a query's keys by weight and keep only the heaviest: how much attention is kept? The line is the median query, the
band runs from the 10th to the 90th percentile, and the dot marks 95 %. Among these heads the median query needs from
{keys[0]:,} to {keys[-1]:,} keys. This is what sparse attention can save, and where it cannot.</p>
<figure class="scroll">{svg(curve_chart(heads, tokens), "Attention kept against number of heaviest keys, for each head")}
<figcaption>Computed from {names[args.trace]} and {names[args.result]}; the number of keys is on a logarithmic scale.
</figcaption></figure>

<h2>Evidence</h2>
<pre><code>{html.escape(command)}</code></pre>
<dl>
<dt>trace</dt><dd>{names[args.trace]}, SHA-256 <code>{digests[args.trace]}</code></dd>
<dt>result</dt><dd>{names[args.result]}, SHA-256 <code>{digests[args.result]}</code></dd>
<dt>model</dt><dd>{html.escape(metadata.get("model", "not named"))}</dd>
<dt>text</dt><dd>{html.escape(metadata.get("text", "not named"))}</dd>
<dt>licence</dt><dd>{html.escape(metadata.get("licence", "not named"))}</dd>
<dt>program</dt><dd>tamis {html.escape(report["version"])}, target {html.escape(report["target"])},
{report["threads"]} threads</dd>
<dt>page</dt><dd>tools/demo_page.py with numpy {np.__version__}, altair {alt.__version__}, vl-convert
{vl_convert.__version__}</dd>
</dl>
"""
    return (
        '<!doctype html>\n<html lang="en"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        f"<title>tamis: attention, exact and certified</title><style>{STYLE}</style></head>"
        f"<body><main>{body}</main></body></html>\n"
    )


def head_picture(head, positions, tokens):
    """The map of one head as PNG, on a light ground."""
    # Two pixels for each cell, unsmoothed: sharp, and it compresses well.
    chart = map_chart(head, positions, tokens, 2 * BINS, 2 * len(positions), smooth=False)
    text = styled(chart, ground="#fbfaf7").to_json().replace(INK, "#1d2330")
    text = text.replace("system-ui, sans-serif", "sans-serif")
    return recompressed(vl_convert.vegalite_to_png(text, scale=1))


def parse_arguments():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("trace", help="the trace that was given to tamis attend")
    parser.add_argument("result", help="what --out wrote")
    parser.add_argument("report", help="what --json printed, under --check")
    parser.add_argument("--page", help="write the page here")
    parser.add_argument("--picture", help="write the map of one head here, as PNG")
    parser.add_argument(
        "--head", default="12:1", metavar="L:H", help="the head in the large map (default: 12:1)"
    )
    return parser.parse_args()


def main():
    args = parse_arguments()
    trace, metadata = read(args.trace)
    result, _ = read(args.result)
    report = json.loads(Path(args.report).read_text())
    if metadata["causal"] != "true" or not report["checked"]:
        sys.exit("demo_page.py: needs a causal trace and a report made under --check")
    scale = float(metadata["scale"])
    heads = [
        study(trace, scale, result, layer["layer"], head)
        for layer in report["layers"]
        for head in range(layer["query_heads"])
    ]
    wanted = [head for head in heads if f"{head.layer}:{head.head}" == args.head]
    if not wanted:
        sys.exit(
            f"demo_page.py: --head {args.head}: the trace has {', '.join(f'{h.layer}:{h.head}' for h in heads)}"
        )
    if args.page:
        Path(args.page).write_text(page(args, trace, metadata, report, heads, wanted[0]), encoding="utf-8")
    if args.picture:
        tokens = trace[f"layers.{wanted[0].layer}.k"].shape[1]
        Path(args.picture).write_bytes(head_picture(wanted[0], trace["positions"], tokens))


if __name__ == "__main__":
    main()
