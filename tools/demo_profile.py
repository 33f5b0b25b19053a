"""The part of the demo page about how sparse every head is and by which law that grows: what `tamis profile --out`
wrote, with the fewest keys of one eps counted again here from the trace."""

import html
import json
from pathlib import Path

import numpy as np
from demo_charts import growth_chart, svg
from demo_html import percent, table

LAWS = {
    "constant": "constant",
    "log": "α·log n",
    "power": "α·n<sup>C</sup>",
    "linear": "α·n",
    "gaussian": "Gaussian",
    "none": "none",
}
RULES = {
    "power": "k = α·n<sup>C</sup> heaviest",
    "topk": "a fixed number of heaviest",
    "window": "a fixed window",
}


def read_profile(path):
    return json.loads(Path(path).read_text())


def number(value):
    return "" if value is None else f"{value:,.0f}"


def median_keys(profile, heads):
    """The median number of keys that each head needs, counted by numpy: {(layer, head): keys}."""
    found = {(head.layer, head.head): np.sort(head.keys_for(profile["eps"][0])) for head in heads}
    return {place: int(keys[(len(keys) + 1) // 2 - 1]) for place, keys in found.items()}  # as profiles do


def head_table(profile, counted):
    eps = percent(profile["eps"][0])
    names = ["", f"keys for all<br>but {eps}", "counted<br>(numpy)", "of n", "law", "C", "95 %<br>interval",
             "heaviest<br>key", "first<br>token"]  # fmt: skip
    rows = []
    for head in profile["heads"]:
        fitted = head["C_low"] is not None
        rows.append(
            [
                f"layer {head['layer']}, head {head['head']}",
                number(head["k_eps"]["median"]),
                number(counted[head["layer"], head["head"]]),
                percent(head["share"]["median"]),
                LAWS[head["law"]],
                f"{head['C']:.2f}" if fitted else "",
                f"{head['C_low']:.2f} … {head['C_high']:.2f}" if fitted else "",
                percent(head["top1"]["median"]),
                percent(head["sink"]["median"]),
            ]
        )
    return table(names, rows)


def rule_table(profile):
    """Over the held-out rows of all heads: what each rule reads and how often it keeps its promise."""
    heads = [head["rules"] for head in profile["heads"] if head["rules"] is not None]
    rows = []
    for rule, words in RULES.items():
        own = [head[rule] for head in heads]
        tried = sum(one["held_out"]["rows"] for one in own)
        if tried == 0:
            continue
        kept = sum(one["held_out"]["covered"] for one in own)
        read = sum(one["mean_keys"] * one["held_out"]["rows"] for one in own) / tried
        first, last = ([head["bins"][i][rule] for head in heads if head["bins"]] for i in (0, -1))
        ends = [
            percent(
                sum(one["held_out"]["covered"] for one in end) / sum(one["held_out"]["rows"] for one in end)
            )
            for end in (first, last)
        ]
        rows.append([words, number(read), percent(kept / tried), *ends])
    names = ["", "keys read,<br>mean", "kept its<br>promise", "… at the<br>shortest", "… at the<br>longest"]
    return table(names, rows)


def section(profile, heads, name, trace_name):
    eps = percent(profile["eps"][0])
    counted = median_keys(profile, heads)
    growing = [head["C"] for head in profile["heads"] if head["C_low"] is not None]
    shares = sorted(head["share"]["median"] for head in profile["heads"])
    laws = {}
    for head in profile["heads"]:
        laws[head["law"]] = laws.get(head["law"], 0) + 1
    told = ", ".join(f"{LAWS[law]}: {n}" for law, n in sorted(laws.items(), key=lambda item: -item[1]))
    return f"""
<h2>How sparse, and by which law</h2>
<p>How many keys does a query need to keep all but {eps} of its attention, and how does that number grow with the keys it sees?
Over the heads, the median query needs from {percent(shares[0])} to {percent(shares[-1])} of what it sees. Five laws compete for each head, the
last of them a warning: Gaussian logits of a fixed spread grow almost like a power too, so that a power law is believed only where it beats
them. Heads by law: {told}. Median exponent C: {np.median(growing):.2f}.</p>
{head_table(profile, counted)}
<p class="source">Medians over {profile["queries"]} queries. The interval for C respects that neighbouring queries depend on each other; a head of
which no law fits has law none, and its C describes growth all the same. From {html.escape(name)}; counted: from {html.escape(trace_name)}, with
numpy in f64.</p>
<figure class="scroll">{svg(growth_chart(profile["heads"]), f"Keys needed for all but {profile['eps'][0]:g} of the mass against keys seen, for each head")}
<figcaption>Keys needed against keys seen, both logarithmic. Dots: medians of neighbouring queries, bars from the 10th to the 90th percentile; line: the
law; dashes: what Gaussian logits with each query's own spread would need. From {html.escape(name)}.</figcaption></figure>
<p>A rule k = α·n<sup>C</sup> should then serve short and long contexts alike, where a fixed number of keys wastes on the one and fails on the
other. Each rule was calibrated on some of the queries to keep all but {eps} of the attention for {percent(1 - profile["delta"])} of them, and
tried on others:</p>
{rule_table(profile)}
<p class="source">Held-out queries of all heads together; shortest and longest: the first and the last of four ranges of length. Queries of one text are
not a sample of all texts: the promise is for rows like those calibrated on. From {html.escape(name)}.</p>
"""
