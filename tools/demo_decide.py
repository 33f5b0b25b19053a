"""The part of the demo page about the fewest dimensions of a pattern. It shows what `tamis decide`
answered and checks its evidence again here: a witness is multiplied out in exact fractions, and
rows and columns that forbid a dimension are looked up in the pattern's file. Costs a few
milliseconds for patterns of some dozen rows."""

import html
import json
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path

import numpy as np
from demo_html import table
from demo_realise import read_pattern
from safetensors.numpy import load_file

ONES = -1  # stands for the row of ones that may be added to any pattern

TITLES = {
    "identity": "every document for itself",
    "pairs-12": "all pairs of 12 documents",
    "pattern-32": "two permutations of 32",
    "recipes": "topics and recipes",
}


@dataclass
class Question:
    name: str
    pattern: Path
    sets: list  # for each row the set of its columns
    columns: int
    report: dict  # decide --json
    witness: dict  # tensors; empty if there is none
    refutation: dict  # empty if there is none
    verdicts: dict  # of verify --json: whether "witness" and "refutation" hold

    @property
    def title(self):
        return TITLES.get(self.name, self.name)

    @property
    def margin(self):
        """Returns the exact least difference between a nonzero and a zero, or None without zeros
        or witness."""
        return exact_margin(self.sets, self.columns, self.witness) if self.witness else None

    @property
    def refuted(self):
        """Returns whether the rows and columns forbid the dimension in this check too, or None for
        grounds that it does not look up."""
        check = {"odd circle": odd_circle, "full set": full_set}.get(self.refutation.get("grounds"))
        return check(self.sets, self.refutation) if check else None

    def file(self, suffix):
        return f"{self.name}.{suffix}"


def read_qrels(path):
    topics, documents, pairs = {}, {}, []
    for line in path.read_text().splitlines():
        topic, _, document, relevance = line.split()
        pairs.append(
            (
                topics.setdefault(topic, len(topics)),
                documents.setdefault(document, len(documents)),
                relevance,
            )
        )
    sets = [set() for _ in topics]
    for row, column, relevance in pairs:
        if float(relevance) > 0:
            sets[row].add(column)
    return sets


def read_questions(folder, names):
    found = []
    for name in names:
        (pattern,) = (
            file for kind in ("mtx", "qrels") if (file := Path(folder) / f"{name}.{kind}").exists()
        )

        def said(suffix, name=name):
            file = Path(folder) / f"{name}.{suffix}"
            return json.loads(file.read_text()) if file.exists() else {}

        witness = Path(folder) / f"{name}.safetensors"
        report = said("decide.json")
        found.append(
            Question(
                name,
                pattern,
                read_qrels(pattern)
                if pattern.suffix == ".qrels"
                else [set(columns.tolist()) for columns, _ in read_pattern(pattern)],
                report["columns"],
                report,
                load_file(witness) if report["out"] else {},
                said("refutation.json") if report["refutation"] else {},
                {
                    kind: said(f"{kind}.verify.json").get("holds")
                    for kind in ("witness", "refutation")
                },
            )
        )
    return found


def exact_margin(sets, columns, witness):
    q, k = (
        [[Fraction(float(value)) for value in row] for row in witness[name].astype(np.float64)]
        for name in ("q", "k")
    )
    margin = None
    for query, ones in zip(q, sets, strict=True):
        logits = [sum(a * b for a, b in zip(query, key, strict=True)) for key in k]
        zeros = [logits[j] for j in range(columns) if j not in ones]
        if zeros:
            slack = min(logits[j] for j in ones) - max(zeros)
            margin = slack if margin is None else min(margin, slack)
    return margin


def odd_circle(sets, claim):
    def right(one):
        a, b, first, second = (sets[one["a"]], sets[one["b"]], one["first"], one["second"])
        has = [first in a, second in a, first in b, second in b]
        return has == ([True, False, True, False] if one["same"] else [True, False, False, True])

    relations = claim["relations"]
    closed = all(relations[i - 1]["b"] == one["a"] for i, one in enumerate(relations))
    return (
        closed and all(map(right, relations)) and sum(not one["same"] for one in relations) % 2 == 1
    )


def full_set(sets, claim):
    def sign(element, cut):
        row, column = (cut, element) if claim["of_columns"] else (element, cut)
        return row == ONES or column in sets[row]

    elements, cuts = claim["elements"], claim["cuts"]
    complete = len(cuts) == 2 ** (len(elements) - 1) and claim["dim"] <= len(elements) - 2
    return complete and all(
        (sign(element, cut) != sign(elements[0], cut)) == bool(split >> place & 1)
        for split, cut in enumerate(cuts)
        for place, element in enumerate(elements[1:])
    )


def answer(report):
    lower, upper = report["lower"], report["upper"]
    if lower == upper:
        return f"<b>{lower}</b>"
    return f"<b>{lower} to {upper}</b>, open" if upper else f"<b>at least {lower}</b>, open"


def agreement(here, there):
    """Returns both results about a piece of evidence: this script's, where it has one, and that of
    tamis verify."""
    words = {True: "holds", False: "does not hold", None: "not looked up"}
    return f"{words[here]}; {words[bool(there)]}"


def question_table(questions):
    names = ["pattern", "fewest<br>dimensions", "rows ×<br>columns", "not fewer:<br>by", "enough:<br>by",
             "refutation:<br>here; tamis verify", "witness:<br>here; tamis verify"]  # fmt: skip
    rows = []
    for one in questions:
        report, evidence = one.report, one.report["evidence"]
        lower, upper = evidence["lower"], evidence["upper"]
        margin = one.margin
        rows.append(
            [
                html.escape(one.title),
                answer(report),
                f"{report['rows']:,} × {report['columns']:,}",
                html.escape(lower["grounds"]) if lower else "–",
                html.escape(upper["method"]) if upper else "–",
                agreement(one.refuted, one.verdicts["refutation"]) if lower else "–",
                agreement(margin is None or margin > 0, one.verdicts["witness"]) if upper else "–",
            ]
        )
    return table(names, rows)


def link(one, suffix, words):
    file = html.escape(one.file(suffix), quote=True)
    return f'<a href="{file}">{words}</a>'


def evidence_list(questions):
    items = []
    for one in questions:
        lower, upper = one.report["evidence"]["lower"], one.report["evidence"]["upper"]
        links = [link(one, one.pattern.suffix[1:], "pattern"), link(one, "decide.json", "answer")]
        why = "One dimension is the least there is."
        if lower:
            links.append(link(one, "refutation.json", "refutation"))
            grade = "" if lower["proved"] else " (a solver's word, not a proof)"
            why = f"<b>Not in {lower['dim']}</b>{grade}: {html.escape(lower['words'])}"
        enough = "No witness was found."
        if upper:
            links.append(link(one, "safetensors", "witness"))
            enough = f"<b>In {upper['columns']}</b>: a witness by {html.escape(upper['method'])}, verified in {', '.join(upper['arithmetic'])}."
        items.append(
            f"<dt>{html.escape(one.title)}</dt><dd>{why}<br>{enough} <span class='source'>{' · '.join(links)}</span></dd>"
        )
    return f'<dl class="answers">{"".join(items)}</dl>'


def plane_picture(one, size=340):
    """Draws keys of two columns as points and, for every row, the line with which its query
    separates its nonzeros from its zeros."""
    q, k = (one.witness[name].astype(np.float64) for name in ("q", "k"))
    low, high = k.min(axis=0), k.max(axis=0)
    scale = 0.74 * size / (high - low).max()
    points = (k - (low + high) / 2) * scale * [1, -1] + size / 2
    lines = []
    for query, ones in zip(q, one.sets, strict=True):
        logits = k @ query
        zeros = [logits[j] for j in range(one.columns) if j not in ones]
        if not zeros:
            continue
        between = (min(logits[j] for j in ones) + max(zeros)) / 2
        foot = (query * between / (query @ query) - (low + high) / 2) * scale * [1, -1] + size / 2
        along = np.array([query[1], query[0]]) / np.linalg.norm(query) * size
        (x1, y1), (x2, y2) = foot - along, foot + along
        lines.append(f'<line x1="{x1:.1f}" y1="{y1:.1f}" x2="{x2:.1f}" y2="{y2:.1f}"/>')
    dots = "".join(f'<circle cx="{x:.1f}" cy="{y:.1f}" r="5"/>' for x, y in points)
    return (
        f'<svg role="img" aria-label="Keys in the plane, and the line of every query" viewBox="0 0 {size} {size}" '
        f'width="{size}" height="{size}"><g stroke="currentColor" stroke-opacity=".35">{"".join(lines)}</g>'
        f'<g fill="var(--accent)">{dots}</g></svg>'
    )


def section(questions):
    witnesses = [one for one in questions if one.witness]
    hold = sum(one.margin is None or one.margin > 0 for one in witnesses)
    looked_up = [one.refuted for one in questions if one.refuted is not None]
    plane = next((one for one in witnesses if one.report["upper"] == 2), None)
    figure = ""
    if plane:
        figure = f"""
<figure>{plane_picture(plane)}
<figcaption>The witness of “{html.escape(plane.title)}”, in two dimensions: dots are its keys, one for each column, and every row's query is a line
that has the row's nonzeros on one side and all else on the other. From {html.escape(plane.file("safetensors"))}.</figcaption></figure>"""
    return f"""
<h2>How few dimensions are enough</h2>
<p>Ask less: in every row the nonzeros must only be above the zeros. What is the fewest dimensions in which queries and keys do that? For a
relevance file this is the size of embedding that retrieval needs. It is decided by evidence from both sides: a witness shows that so many are
enough, a refutation that fewer are not. Where they do not meet, the answer is an interval.</p>
{question_table(questions)}
<p class="source">Checked here, from the files alone: {hold} of {len(witnesses)} witnesses hold in exact fractions; of {len(looked_up)} refutations whose
rows and columns were looked up in the pattern {sum(looked_up)} hold. From *.decide.json, *.verify.json and the files linked below.</p>
{evidence_list(questions)}{figure}
"""
