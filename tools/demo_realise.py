"""The part of the demo page about which patterns attention can produce, and in how few dimensions.
It shows what `tamis realise`, `verify` and `frontier` printed, and checks each witness again
with numpy in f64."""

import html
import json
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from demo_charts import frontier_chart, svg
from demo_html import power, table
from safetensors.numpy import load_file

WORDS = {
    "permutation": "a random permutation",
    "two-permutations": "two permutations, values 1 or 2",
    "head": "top 4 keys of a real head",
    "pairs": "all pairs of documents",
}


@dataclass
class Example:
    name: str
    report: dict  # realise --json
    verdict: dict  # verify --json
    margin: float  # the least slack of a condition, computed here

    @property
    def words(self):
        return WORDS.get(self.name, self.name)


def read_pattern(path):
    """Returns the rows of a Matrix Market file as a list of (columns, values)."""
    lines = [line for line in Path(path).read_text().splitlines() if not line.startswith("%")]
    rows, _, _ = (int(word) for word in lines[0].split())
    entries = [[] for _ in range(rows)]
    for line in lines[1:]:
        i, j, value = line.split()
        entries[int(i) - 1].append((int(j) - 1, float(value)))
    return [
        (np.array([j for j, _ in row]), np.array([value for _, value in row])) for row in entries
    ]


def least_slack(pattern, q, k, conditions):
    """Returns the least slack of (23) and (24), or of the weak condition, over all rows, in plain
    f64."""
    slack = np.inf
    for (columns, values), logits in zip(pattern, q @ k.T, strict=True):
        zeros = np.delete(logits, columns)
        log_eps1 = 0.0 if conditions["weak"] else np.log(conditions["eps1"])
        if len(zeros):
            slack = min(slack, log_eps1 - (zeros.max() - logits[columns].min()))
        if not conditions["weak"]:
            off = logits[columns] - np.log(values)
            slack = min(slack, conditions["eps2"] - (off.max() - off.min()))
    return float(slack)


def read_examples(folder, names):
    found = []
    for name in names:
        file = Path(folder) / name
        report = json.loads(file.with_suffix(".realise.json").read_text())
        verdict = json.loads(file.with_suffix(".verify.json").read_text())
        witness = load_file(file.with_suffix(".safetensors"))
        q, k = (witness[key].astype(np.float64) for key in ("q", "k"))
        margin = least_slack(read_pattern(file.with_suffix(".mtx")), q, k, report["conditions"])
        found.append(Example(name, report, verdict, margin))
    return found


def bound(value, square):
    if not square:
        return "–"
    return f"{value:,}" if value is not None else "vacuous"


def short(value):
    return f"{value:,.0f}" if value >= 100 else f"{value:.3g}"


def small(value):
    return power(value) if abs(value) < 1e-3 else f"{value:.3g}"


def example_table(examples):
    names = ["pattern", "rows ×<br>columns", "k", "dimen-<br>sions", "by", "norm<br>product", "sharper<br>bound",
             "margin,<br>exact", "margin<br>(numpy)"]  # fmt: skip
    rows = []
    for example in examples:
        report = example.report
        rows.append(
            [
                html.escape(example.words),
                f"{report['rows']:,} × {report['columns']:,}",
                f"{report['k_rows']}",
                f"<b>{report['dim']}</b>",
                report["method"],
                short(report["norm_product"]),
                bound(
                    report["bound_sharper"],
                    report["rows"] == report["columns"] and not report["conditions"]["weak"],
                ),
                small(example.verdict["margin"]),
                small(example.margin),
            ]
        )
    return table(names, rows)


def section(examples, frontier, name):
    held = sum(example.verdict["holds"] and example.margin > 0 for example in examples)
    eps1, eps2 = frontier["conditions"]["eps1"], frontier["conditions"]["eps2"]
    points = [point for point in frontier["points"] if point["verified"]]
    few, many = points[0], points[-1]
    return f"""
<h2>Which patterns attention can produce, in how few dimensions</h2>
<p>Turn the question round: given a sparse pattern, are there queries and keys whose attention is that pattern? They are
<em>witnesses</em>: numbers that anybody can check. Zeros must stay below {eps1:g} of every nonzero of their row, and ratios of nonzeros
within a factor e<sup>{eps2:g}</sup> (for the pairs of documents: nonzeros above zeros). tamis found the witnesses below and verified each in
exact arithmetic; {held} of {len(examples)} hold when numpy multiplies the written numbers again.</p>
<div class="scroll">{example_table(examples)}</div>
<p class="source">The bound is the number of columns that the paper's random construction is proven to need at most, in its sharper form; vacuous: more
than there are rows. From *.realise.json and *.verify.json; the last column from the written witnesses.</p>
<p>Fewer dimensions cost larger logits. For a random permutation of {frontier["rows"]:,} rows the smallest norm product found is
{few["norm_product"]:,.0f} in {few["dim"]} dimensions and {many["norm_product"]:.2f} in {many["dim"]}; below {frontier["lower_bound"]:.2f} there is
no witness in any dimension.</p>
<figure class="scroll">{svg(frontier_chart(frontier), "Norm product against dimension, with the paper's construction and the lower bound")}
<figcaption>Smallest norm product max‖q‖·max‖k‖ found and verified at each dimension; the truth may lie lower. Grey: the product of the matrix that the
paper projects; red: no witness below. From {html.escape(name)}.</figcaption></figure>
"""
