"""The part of the demo page about sparse attention: what was read, what was proven of the result, and what is
true of it."""

import html
import json
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from demo_charts import error_chart, reading_chart, svg, trade_chart
from demo_html import percent, power, table

MESHES = {
    "coarse": "4 bits for each number of a key: every key",
    "middle": "8 bits of a key, 4 bits of a value: what may carry weight",
    "exact": "as stored: what carries most of it",
}
PLACES = 24  # points of a reading curve


@dataclass
class Run:
    """One run of `tamis attend --budget mass:EPS --check --out RESULT --json > REPORT`."""

    report: dict
    result: dict  # the arrays of RESULT
    names: tuple  # of the files RESULT and REPORT

    @property
    def budget(self):
        return self.report["budget"]

    @property
    def eps(self):
        return float(self.budget.removeprefix("mass:"))


def bars(runs):
    """Mean shares of bytes by mesh, one bar for each layer: they add up, unlike medians."""
    rows = []
    for run in runs:
        rows.append(
            f"<b>τ proven to be at most {percent(run.eps)}: <code>{html.escape(run.budget)}</code></b>"
        )
        for layer in run.report["layers"]:
            shares = {mesh: layer["meshes"][mesh]["bytes"]["mean"] for mesh in MESHES}
            words = ", ".join(f"{mesh} {percent(share)}" for mesh, share in shares.items())
            pieces = "".join(
                f'<i class="{mesh}" style="width:{100 * share:.2f}%"></i>' for mesh, share in shares.items()
            )
            rows.append(
                f'<span>layer {layer["layer"]}</span><span class="track" role="img" aria-label="{words}" title="{words}">'
                f"{pieces}</span><span>{percent(layer['bytes']['mean'])}</span>"
            )
    keys = "".join(f'<span class="{mesh}">{mesh}: {words}</span>' for mesh, words in MESHES.items())
    return f'<div class="key">{keys}<span class="rest">not read</span></div><div class="bars">{"".join(rows)}</div>'


def measured_errors(run, heads):
    """For every layer: its number, errors measured here, and certified ones."""
    layers = {}
    for head in heads:
        out = run.result[f"layers.{head.layer}.out"][head.head]
        measured, certified = layers.setdefault(head.layer, ([], []))
        measured.append(np.linalg.norm(out - head.exact, axis=1))
        certified.append(run.result[f"layers.{head.layer}.error"][head.head])
    return [(layer, *(np.concatenate(part) for part in both)) for layer, both in layers.items()]


def certificate_table(run, errors):
    names = ["", "bytes,<br>median", "bytes,<br>p90", "dense", "τ,<br>certified", "τ, true", "error,<br>certified",
             "true<br>(tamis)", "true<br>(numpy)", "relative,<br>true", "violations"]  # fmt: skip
    rows = []
    for layer, (_, measured, _) in zip(run.report["layers"], errors, strict=True):
        rows.append(
            [
                f"layer {layer['layer']}",
                percent(layer["bytes"]["median"]),
                percent(layer["bytes"]["p90"]),
                percent(layer["dense_fallbacks"] / (layer["query_heads"] * layer["queries"])),
                percent(layer["tau"]["median"]),
                percent(layer["tau"]["true"]["median"]),
                power(layer["error"]["median"]),
                power(layer["error"]["true"]["median"]),
                power(np.sort(measured)[(len(measured) + 1) // 2 - 1]),
                percent(layer["relative_error"]["median"]),
                str(layer["violations"]),
            ]
        )
    return table(names, rows)


def reading_curves(run, positions):
    """For every layer: the share of the dense bytes that a KV head reads, p10, median and p90 of neighbouring
    queries."""
    order = np.argsort(positions, kind="stable")
    seen = positions[order] + 1
    parts = np.array_split(np.arange(len(seen)), PLACES)
    for layer in run.report["layers"]:
        read = run.result[f"layers.{layer['layer']}.bytes"][:: layer["query_heads"] // layer["kv_heads"]]
        per_key = layer["bytes"]["dense"] / layer["keys"]["dense"]
        shares = read[:, order] / (seen * per_key)
        spread = np.array([np.quantile(shares[:, part], [0.1, 0.5, 0.9]) for part in parts])
        yield layer["layer"], run.budget, [int(np.median(seen[part])) for part in parts], *spread.T


def trades(runs, heads, positions):
    """For every budget and head: medians over queries of the bytes that its KV head reads and of its errors, by
    the length of the exact output."""
    seen = positions + 1
    for run in runs:
        layers = {layer["layer"]: layer for layer in run.report["layers"]}
        for head in heads:
            layer = layers[head.layer]
            per_key = layer["bytes"]["dense"] / layer["keys"]["dense"]
            length = np.linalg.norm(head.exact, axis=1)
            out = run.result[f"layers.{head.layer}.out"][head.head]
            yield (
                run.budget,
                head.layer,
                head.head,
                float(np.median(run.result[f"layers.{head.layer}.bytes"][head.head] / (seen * per_key))),
                float(np.median(np.linalg.norm(out - head.exact, axis=1) / length)),
                float(np.median(run.result[f"layers.{head.layer}.error"][head.head] / length)),
            )


def section(runs, heads, positions, trace_name):
    """The last of `runs` is shown in detail."""
    detail = runs[-1]
    errors = measured_errors(detail, heads)
    above = sum(int((measured > certified).sum()) for _, measured, certified in errors)
    read = " and ".join(
        f"{percent(run.report['bytes']['median'])} where τ may be {percent(run.eps)}" for run in runs
    )
    sources = ", ".join(html.escape(run.names[1]) for run in runs)
    curves = [curve for run in runs for curve in reading_curves(run, positions)]
    index = detail.report["index"]
    return f"""
<h2>Reading only what matters</h2>
<p>Sparse attention can read less, if it can tell what it leaves out. tamis keeps an index of the keys and values in two
coarser meshes ({percent(index["share"])} of the size of K and V here) and walks from coarse to exact: each key and value
is read as precisely as the weight that it may carry deserves. The budget <code>{html.escape(detail.budget)}</code> goes on until
it is proven that the weights used are within {percent(detail.eps)} of exact attention, in total variation (τ); no step of
the proof is an estimate. Of the bytes that dense attention reads, half of the steps read at most {read}.</p>
{bars(runs)}
<p class="source">A bar is what dense attention reads. Means over all KV heads and queries of a layer; queries that share a KV
head share what is read; index, norms and block parameters are counted. From {sources}.</p>
<p>The share of the bytes that a query needs, against the number of keys that it sees:</p>
<figure class="scroll">{svg(reading_chart(curves, [run.budget for run in runs]), "Share of bytes read against keys seen, by layer")}
<figcaption>Line: the median of neighbouring queries; band: from the 10th to the 90th percentile. From the bytes in
{", ".join(html.escape(run.names[0]) for run in runs)}.</figcaption></figure>
<p>What the bytes buy: every head at both budgets, its true error and the certified one.</p>
<figure class="scroll">{svg(trade_chart(list(trades(runs, heads, positions)), [run.budget for run in runs]), "Measured and certified error against bytes read")}
<figcaption>Medians over the queries of a head; errors relative to the length of the exact output, measured by numpy in f64 and certified by
tamis. From {html.escape(trace_name)} and {", ".join(html.escape(run.names[0]) for run in runs)}.</figcaption></figure>
<p>What was proven under <code>{html.escape(detail.budget)}</code>, beside the truth. Half of the outputs are off by no more than
{percent(detail.report["relative_error"]["median"])} of their length, nine in ten by no more than
{percent(detail.report["relative_error"]["p90"])}.</p>
{certificate_table(detail, errors)}
<p class="source">Medians over the queries of a layer; dense: queries for which sparse reading did not pay. τ and its true value, the total-variation distance between the weights used and the
softmax in f64: {html.escape(detail.names[1])}. Relative: true error by the length of the exact output. Error by numpy: from
{html.escape(trace_name)} and the outputs in {html.escape(detail.names[0])}.</p>
<figure class="scroll">{svg(error_chart(errors), f"Histogram of measured and certified errors under {detail.budget}")}
<figcaption>Every query once as measured (numpy, f64) and once as certified. Measured errors above their certificate: {above}.
From {html.escape(trace_name)} and {html.escape(detail.names[0])}.</figcaption></figure>
"""


def runs_of(pairs, read):
    """From pairs of files RESULT and REPORT. `read` gives a RESULT's arrays."""
    runs = []
    for result, report in pairs:
        names = (Path(result).name, Path(report).name)
        runs.append(Run(json.loads(Path(report).read_text()), read(result)[0], names))
    return runs
