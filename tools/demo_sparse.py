"""The part of the demo page about sparse attention: what was read, what was proven about the
result, and its true error."""

import html
import json
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from demo_charts import error_chart, reading_chart, svg, trade_chart
from demo_html import percent, power, table

# The depths to which a key or value was read, by their names in a report.
DEPTHS = {
    "centre": "the mean of 128 values in place of a value",
    "4": "4 bits of each number",
    "8": "8 bits",
    "12": "12 bits",
    "16": "16 bits",
    "raw": "as it came: the first tokens, the last block, numbers that no code holds",
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
    """Returns bars, one for every layer, of the mean shares of keys and values that were read to
    each depth. Means add up, unlike medians."""
    rows = []
    shown = {depth for run in runs for depth in run.report["read"]}
    for run in runs:
        rows.append(
            f"<b>τ proven to be at most {percent(run.eps)}: <code>{html.escape(run.budget)}</code></b>"
        )
        for layer in run.report["layers"]:
            for what in ("keys", "values"):
                shares = {
                    depth: layer["read"][depth][what]
                    for depth in DEPTHS
                    if what in layer["read"].get(depth, {})
                }
                words = ", ".join(f"{depth} {percent(share)}" for depth, share in shares.items())
                pieces = "".join(
                    f'<i class="depth-{depth}" style="width:{100 * share:.2f}%"></i>'
                    for depth, share in shares.items()
                )
                total = f"{percent(layer['bytes']['mean'])} of the bytes" if what == "keys" else ""
                rows.append(
                    f'<span>layer {layer["layer"]}, {what}</span><span class="track" role="img" '
                    f'aria-label="{words}" title="{words}">{pieces}</span><span>{total}</span>'
                )
    keys = "".join(
        f'<span class="depth-{depth}">{words}</span>'
        for depth, words in DEPTHS.items()
        if depth in shown
    )
    return f'<div class="key">{keys}</div><div class="bars">{"".join(rows)}</div>'


def measured_errors(run, heads):
    """Returns the number, the errors measured here and the certified errors of every layer."""
    layers = {}
    for head in heads:
        out = run.result[f"layers.{head.layer}.out"][head.head]
        measured, certified = layers.setdefault(head.layer, ([], []))
        measured.append(np.linalg.norm(out - head.exact, axis=1))
        certified.append(run.result[f"layers.{head.layer}.error"][head.head])
    return [(layer, *(np.concatenate(part) for part in both)) for layer, both in layers.items()]


def certificate_table(run, errors):
    names = ["", "bytes,<br>median", "bytes,<br>p90", "budget<br>met", "τ,<br>certified", "error,<br>certified",
             "true<br>(tamis)", "true<br>(numpy)", "relative,<br>true", "violations"]  # fmt: skip
    rows = []
    for layer, (_, measured, _) in zip(run.report["layers"], errors, strict=True):
        rows.append(
            [
                f"layer {layer['layer']}",
                percent(layer["bytes"]["median"]),
                percent(layer["bytes"]["p90"]),
                percent(layer["reached"]["met"] / (layer["query_heads"] * layer["queries"])),
                percent(layer["tau"]["median"]),
                power(layer["error"]["median"]),
                power(layer["error"]["true"]["median"]),
                power(np.sort(measured)[(len(measured) + 1) // 2 - 1]),
                percent(layer["relative_error"]["median"]),
                str(layer["violations"]),
            ]
        )
    return table(names, rows)


def reading_curves(run, positions):
    """Yields for every layer the share of the dense bytes that a KV head reads: p10, median and
    p90 of neighbouring queries."""
    order = np.argsort(positions, kind="stable")
    seen = positions[order] + 1
    parts = np.array_split(np.arange(len(seen)), PLACES)
    for layer in run.report["layers"]:
        read = run.result[f"layers.{layer['layer']}.bytes"][
            :: layer["query_heads"] // layer["kv_heads"]
        ]
        per_key = layer["bytes"]["dense"] / layer["keys"]["dense"]
        shares = read[:, order] / (seen * per_key)
        spread = np.array([np.quantile(shares[:, part], [0.1, 0.5, 0.9]) for part in parts])
        yield layer["layer"], run.budget, [int(np.median(seen[part])) for part in parts], *spread.T


def trades(runs, heads, positions):
    """Yields for every budget and head the medians over queries of the bytes that its KV head
    reads and of its errors, divided by the length of the exact output."""
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
                float(
                    np.median(
                        run.result[f"layers.{head.layer}.bytes"][head.head] / (seen * per_key)
                    )
                ),
                float(np.median(np.linalg.norm(out - head.exact, axis=1) / length)),
                float(np.median(run.result[f"layers.{head.layer}.error"][head.head] / length)),
            )


def section(runs, heads, positions, trace_name):
    """Returns the section. The last of `runs` is shown in detail."""
    detail = runs[-1]
    errors = measured_errors(detail, heads)
    above = sum(int((measured > certified).sum()) for _, measured, certified in errors)
    read = " and ".join(
        f"{percent(run.report['bytes']['median'])} where τ may be {percent(run.eps)}"
        for run in runs
    )
    sources = ", ".join(html.escape(run.names[1]) for run in runs)
    curves = [curve for run in runs for curve in reading_curves(run, positions)]
    bits = detail.report["bits"]
    rows = sum(detail.report["reached"].values())
    met = detail.report["reached"]["met"]
    return f"""
<h2>Reading only what matters</h2>
<p>Sparse attention can read less, if it can tell what it leaves out. tamis keeps keys and values once, in planes of 4 bits
({bits} bits a number and {percent(detail.report["cache_share"])} of the size of K and V here), and reads planes from the top:
each key and value as precisely as the weight that it may carry deserves. The budget <code>{html.escape(detail.budget)}</code>
goes on until it is proven that the weights used are within {percent(detail.eps)} of exact attention, in total variation (τ),
or all stored bits have been read: {met:,} of {rows:,} queries met it. No step of the proof is an estimate. Of the bytes that
dense attention reads, half of the steps read at most {read}.</p>
{bars(runs)}
<p class="source">A bar is all keys, or values, that the queries of a layer see, by how many bits of each number were read. Means
over all KV heads and queries; queries that share a KV head share what is read. Bytes as a share of what dense attention reads at
16 bits, norms and block parameters counted. From {sources}.</p>
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
<p class="source">Medians over the queries of a layer; budget met: queries for which τ was proven as asked. τ and the errors:
{html.escape(detail.names[1])}. Relative: true error by the length of the exact output. Error by numpy: from
{html.escape(trace_name)} and the outputs in {html.escape(detail.names[0])}.</p>
<figure class="scroll">{svg(error_chart(errors), f"Histogram of measured and certified errors under {detail.budget}")}
<figcaption>Every query once as measured (numpy, f64) and once as certified. Measured errors above their certificate: {above}.
From {html.escape(trace_name)} and {html.escape(detail.names[0])}.</figcaption></figure>
"""


def runs_of(pairs, read):
    """Reads runs from pairs of files RESULT and REPORT. `read` gives a RESULT's arrays."""
    runs = []
    for result, report in pairs:
        names = (Path(result).name, Path(report).name)
        runs.append(Run(json.loads(Path(report).read_text()), read(result)[0], names))
    return runs
