#!/usr/bin/env python3
"""Makes one self-contained HTML page about dense and sparse attention on a trace: what was
computed, how far it is from the truth, what was read, and what attention looks like. Prints its
findings in a few sentences.

Reads the trace and what `tamis attend TRACE --dense --check --out RESULT --json > REPORT` wrote;
with --sparse, what runs with `--budget mass:EPS` in place of --dense wrote; with --profile, what
`tamis profile TRACE --out PROFILE` wrote; and the files of the other options. Weights are
p = exp(scale * q.k - lse) with the lse that tamis computed; errors are measured again here, in
f64 with numpy, independently of tamis. Memory is a matrix of queries x tokens for every head, and
a few more.

    tools/demo_page.py TRACE RESULT REPORT --profile PROFILE --sparse RESULT REPORT \\
        --page index.html
    tools/demo_page.py TRACE RESULT REPORT --picture head.png --head 12:2
"""

import argparse
import hashlib
import html
import json
import sys
from dataclasses import dataclass
from pathlib import Path

import altair as alt
import demo_decide
import demo_profile
import demo_realise
import demo_sparse
import demo_sweep
import numpy as np
import vl_convert
from demo_charts import (
    BINS,
    colours,
    curve_chart,
    data_uri,
    error_chart,
    head_picture,
    map_chart,
    png,
    ranks,
    svg,
)
from demo_findings import findings
from demo_html import document, percent, power, table, tile
from safetensors import safe_open


@dataclass
class Head:
    layer: int
    head: int
    map: np.ndarray  # queries x BINS, attention of neighbouring keys; NaN if unseen
    curve: np.ndarray  # 3 x len(ranks): p10, median, p90 of the mass of the heaviest keys
    heaviest: np.ndarray  # queries x keys: mass of the heaviest 1, 2, … keys
    first_token: float  # median share of the first token
    exact: np.ndarray  # queries x d: the exact output, computed here in f64
    error: np.ndarray  # per query, of the dense output
    certified: np.ndarray  # per query, by tamis
    worst_sum: float  # largest |sum of p - 1|

    def keys_for(self, eps):
        """Returns for each query the fewest keys that carry all of its attention but eps."""
        return np.argmax(self.heaviest >= self.heaviest[:, -1:] * (1 - eps), axis=1) + 1

    @property
    def keys_for_95(self):
        return int(np.median(self.keys_for(0.05)))


def read(path):
    with safe_open(path, framework="np") as file:
        names = file.keys()
        return {name: file.get_tensor(name) for name in names}, file.metadata()


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
    exact_out = exact @ v[head // group]

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
        heaviest,
        float(np.median(p[:, 0])),
        exact_out,
        np.linalg.norm(out - exact_out, axis=1),
        result[f"layers.{layer}.error"][head],
        float(np.abs(p.sum(axis=1) - 1).max()),
    )


def layer_table(report, heads):
    names = ["", "heads on<br>KV heads", "queries", "time", "K and V", "error,<br>certified", "error, true<br>(tamis, f64)",
             "error, true<br>(numpy, f64)", "violations"]  # fmt: skip
    rows = []
    for layer in report["layers"]:
        measured = max(head.error.max() for head in heads if head.layer == layer["layer"])
        rows.append(
            [
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
        )
    return table(names, rows)


def dense_errors(heads):
    """Yields the number, the errors measured here and the certified errors of every layer."""
    for layer in dict.fromkeys(head.layer for head in heads):
        own = [head for head in heads if head.layer == layer]
        yield (
            layer,
            np.concatenate([h.error for h in own]),
            np.concatenate([h.certified for h in own]),
        )


def command_line(trace, report, result):
    mode = "--dense" if report["budget"] == "dense" else f"--budget {report['budget']}"
    return f"tamis attend {trace} {mode} --check --out {result} --json"


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


def page(args, trace, metadata, report, heads, shown, runs, profile, realised):
    tokens = trace[f"layers.{shown.layer}.k"].shape[1]
    positions = trace["positions"]
    names = {path: html.escape(Path(path).name) for path in (args.trace, args.result, args.report)}
    source = f"{names[args.report]}, printed by the first command below"
    above = sum(int((head.error > head.certified).sum()) for head in heads)
    keys = sorted(head.keys_for_95 for head in heads)
    ratio = report["error"]["max"] / max(head.error.max() for head in heads)
    files = [args.trace, args.result, *(result for result, _ in args.sparse)]
    if profile:
        files.append(args.profile)
    digests = "".join(
        f"<dt>{'trace' if path == args.trace else 'result'}</dt><dd>{html.escape(Path(path).name)}, SHA-256 "
        f"<code>{hashlib.sha256(Path(path).read_bytes()).hexdigest()}</code></dd>\n"
        for path in files
    )
    commands = [command_line(args.trace, report, Path(args.result).name)]
    commands += [command_line(args.trace, run.report, run.names[0]) for run in runs]
    if profile:
        eps = ",".join(f"{one:g}" for one in profile["eps"])
        commands.append(f"tamis profile {args.trace} --eps {eps} --out {Path(args.profile).name}")
    if args.realised:
        commands += (Path(args.realised) / "commands.txt").read_text().splitlines()
    reports = [report, *(run.report for run in runs)]
    certificates = sum(one["queries"] for one in reports)
    tiles = [
        tile(
            f"{report['queries']:,}",
            f"queries, over {tokens:,} tokens, in {len(report['layers'])} layers",
        ),
        tile(
            str(sum(one["violations"] for one in reports)),
            f"certificates violated, of {certificates:,} checked against f64",
        ),
        tile(power(report["error"]["true"]["max"]), "largest error of dense attention"),
    ]
    for run in runs:
        words = f"of the dense bytes read, to prove weights within {percent(run.eps)} of exact attention"
        tiles.append(tile(percent(run.report["bytes"]["median"]), words))
    body = f"""
<h1>Attention, certified</h1>
<p class="lead">Attention of {html.escape(metadata.get("model", "a model"))}, reading
{html.escape(metadata.get("text", "a text"))}: computed densely, then by reading only what matters. Each output comes with a
bound on its distance from exact attention, and each bound was tested.</p>
<div class="tiles">{"".join(tiles)}</div>
<p class="source">From {", ".join([names[args.report], *(html.escape(run.names[1]) for run in runs)])}, printed by the commands
below.</p>

<h2>Reading everything</h2>
<p>tamis computed every query in f32 and proved, from the norms of queries, keys and values, how far rounding can have moved
the output. Then the same attention was computed in f64, twice: by tamis in plain loops and by numpy for this page.
A bound holds for the worst case, so it is larger than what happens: the largest bound is {ratio:,.0f} times the largest
error.</p>
{layer_table(report, heads)}
<p class="source">Largest values over the queries of a layer. Time, bytes (once per KV head and query), certified and first true
error: {source}. Second true error: from q, k, v of {names[args.trace]} and the outputs in {names[args.result]}.</p>
<figure class="scroll">{svg(error_chart(list(dense_errors(heads))), "Histogram of measured and certified errors by layer")}
<figcaption>Every query once as measured (numpy, f64) and once as certified. Measured errors above
their certificate: {above}. From {names[args.trace]} and {names[args.result]}.</figcaption></figure>

<h2>A head at work</h2>
<p>Layer {shown.layer}, head {shown.head}. Each line is a query, at its place in the text, and shows where it looks among the
tokens before it; the empty corner is the future. The scale is logarithmic: most of the picture is nearly nothing.
Half of the queries find 95 % of their attention in {shown.keys_for_95:,} keys or fewer, of up to {tokens:,}.</p>
<figure class="scroll">{svg(map_chart(shown, positions, tokens, 800, 600), f"Map of attention of layer {shown.layer}, head {shown.head}")}
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

{demo_profile.section(profile, heads, Path(args.profile).name, Path(args.trace).name) if profile else ""}
{demo_sparse.section(runs, heads, positions, Path(args.trace).name) if runs else ""}
{realised}
<h2>Evidence</h2>
<pre><code>{html.escape(chr(10).join(commands))}</code></pre>
<dl>
{digests}<dt>model</dt><dd>{html.escape(metadata.get("model", "not named"))}</dd>
<dt>text</dt><dd>{html.escape(metadata.get("text", "not named"))}</dd>
<dt>licence</dt><dd>{html.escape(metadata.get("licence", "not named"))}</dd>
<dt>program</dt><dd>tamis {html.escape(report["version"])}, target {html.escape(report["target"])},
{report["threads"]} threads</dd>
<dt>page</dt><dd>tools/demo_page.py with numpy {np.__version__}, altair {alt.__version__}, vl-convert
{vl_convert.__version__}</dd>
</dl>
"""
    return document("tamis: attention, certified", body)


def parse_arguments():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("trace", help="the trace that was given to tamis attend")
    parser.add_argument("result", help="what --out wrote")
    parser.add_argument("report", help="what --json printed, under --check")
    parser.add_argument(
        "--sparse",
        nargs=2,
        action="append",
        default=[],
        metavar=("RESULT", "REPORT"),
        help="the same of a run with --budget mass:EPS; may be given more than once",
    )
    parser.add_argument("--profile", help="what tamis profile --out wrote")
    parser.add_argument(
        "--realised",
        metavar="FOLDER",
        help="where NAME.mtx, .safetensors, .realise.json and .verify.json lie",
    )
    parser.add_argument("--examples", default="", help="their names, with commas between")
    parser.add_argument(
        "--decided",
        default="",
        metavar="NAMES",
        help="patterns in that folder that were decided: NAME.mtx or .qrels, .decide.json, .safetensors, …",
    )
    parser.add_argument("--frontier", help="what tamis frontier --json printed")
    parser.add_argument(
        "--sweep",
        nargs=2,
        metavar=("REPORT", "CHART"),
        help="what tamis sweep fig3 --json printed and --vega wrote",
    )
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
    runs = demo_sparse.runs_of(args.sparse, read)
    for run in runs:
        if not run.report["budget"].startswith("mass:") or not run.report["checked"]:
            sys.exit(
                "demo_page.py: --sparse needs reports of a budget mass:EPS, made under --check"
            )
        if [layer["layer"] for layer in run.report["layers"]] != [
            layer["layer"] for layer in report["layers"]
        ]:
            sys.exit("demo_page.py: --sparse needs reports of the same layers as the dense one")
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
    tokens = trace[f"layers.{wanted[0].layer}.k"].shape[1]
    profile = demo_profile.read_profile(args.profile) if args.profile else None
    if profile and not demo_profile.is_of(
        profile, Path(args.trace).name, tokens, len(trace["positions"]), heads
    ):
        sys.exit(
            "demo_page.py: --profile needs the profile of the same trace and layers as the dense report"
        )
    realised, examples, frontier, questions = "", [], None, []
    if args.realised:
        frontier = json.loads(Path(args.frontier).read_text())
        examples = demo_realise.read_examples(args.realised, args.examples.split(","))
        realised = demo_realise.section(examples, frontier, Path(args.frontier).name)
        if args.decided:
            questions = demo_decide.read_questions(args.realised, args.decided.split(","))
            realised += demo_decide.section(questions)
    if args.sweep:
        realised += demo_sweep.section(*args.sweep)
    if args.page:
        Path(args.page).write_text(
            page(args, trace, metadata, report, heads, wanted[0], runs, profile, realised),
            encoding="utf-8",
        )
        sys.stdout.reconfigure(errors="replace")  # some terminals cannot show τ
        for words in findings(report, runs, profile, examples, frontier, questions):
            print(words)
    if args.picture:
        Path(args.picture).write_bytes(head_picture(wanted[0], trace["positions"], tokens))


if __name__ == "__main__":
    main()
