"""The part of the demo page about how sparse every head is and by which law that grows. It shows
what `tamis profile --out` wrote, and counts the fewest keys for one eps again from the trace."""

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


def is_of(profile, trace_name, tokens, queries, heads):
    """Returns whether this is the profile of these heads of this trace."""
    own = [(head["layer"], head["head"]) for head in profile.get("heads", [])]
    known = (profile.get("trace"), profile.get("tokens"), profile.get("queries"))
    return known == (trace_name, tokens, queries) and own == [
        (head.layer, head.head) for head in heads
    ]


def number(value):
    return "" if value is None else f"{value:,.0f}"


def median_keys(profile, heads):
    """Returns the median number of keys that each head needs, counted by numpy: {(layer, head):
    keys}."""
    found = {(head.layer, head.head): np.sort(head.keys_for(profile["eps"][0])) for head in heads}
    # The lower median, as in profiles.
    return {place: int(keys[(len(keys) + 1) // 2 - 1]) for place, keys in found.items()}


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


def calibrated_rules(profile):
    """Returns the rules of the heads that have enough rows to calibrate the rules and to test
    them."""
    rules = [head["rules"] for head in profile["heads"] if head["rules"] is not None]
    return [
        own
        for own in rules
        if own["power"]["alpha"] is not None and own["power"]["held_out"]["rows"] > 0
    ]


def kept_share(tried):
    """Returns the share of held-out rows that kept their promise, or an empty string if there are
    none."""
    rows = sum(one["held_out"]["rows"] for one in tried)
    return percent(sum(one["held_out"]["covered"] for one in tried) / rows) if rows else ""


def rule_table(heads):
    """Returns a table, over the held-out rows of all heads, of what each rule reads and how often
    it keeps its promise."""
    rows = []
    for rule, words in RULES.items():
        own = [head[rule] for head in heads]
        tried = sum(one["held_out"]["rows"] for one in own)
        read = sum(one["mean_keys"] * one["held_out"]["rows"] for one in own) / tried
        ends = [kept_share([head["bins"][end][rule] for head in heads]) for end in (0, -1)]
        rows.append([words, number(read), kept_share(own), *ends])
    names = [
        "",
        "keys read,<br>mean",
        "kept its<br>promise",
        "… at the<br>shortest",
        "… at the<br>longest",
    ]
    return table(names, rows)


def rules_section(profile, eps, name):
    promise = f"to keep all but {eps} of the attention for {percent(1 - profile['delta'])} of them"
    start = """<p>A rule k = α·n<sup>C</sup> should then serve short and long contexts alike, where a fixed number of keys wastes on the one
and fails on the other. """
    heads = calibrated_rules(profile)
    if not heads:
        return f"""{start}No head of this trace has queries enough to calibrate a rule {promise}, and to try it on others.</p>
"""
    left_out = len(profile["heads"]) - len(heads)
    without = (
        f" {left_out} heads have too few queries for that and are left out." if left_out else ""
    )
    ranges = len(heads[0]["bins"])
    where = (
        f"the first and the last of {ranges} ranges of length"
        if ranges > 1
        else "all lengths, one range"
    )
    return f"""{start}Each rule was calibrated on some of the queries {promise}, and tried on others:</p>
{rule_table(heads)}
<p class="source">Held-out queries of all heads together; shortest and longest: {where}.{without} Queries of one text are
not a sample of all texts: the promise is for rows like those calibrated on. From {html.escape(name)}.</p>
"""


def section(profile, heads, name, trace_name):
    eps = percent(profile["eps"][0])
    counted = median_keys(profile, heads)
    growing = [head["C"] for head in profile["heads"] if head["C_low"] is not None]
    exponents = (
        f"Median exponent C: {np.median(growing):.2f}."
        if growing
        else "No head has an exponent C: queries or lengths are too few to fit a law."
    )
    shares = sorted(head["share"]["median"] for head in profile["heads"])
    laws = {}
    for head in profile["heads"]:
        laws[head["law"]] = laws.get(head["law"], 0) + 1
    told = ", ".join(
        f"{LAWS[law]}: {n}" for law, n in sorted(laws.items(), key=lambda item: -item[1])
    )
    return f"""
<h2>How sparse, and by which law</h2>
<p>How many keys does a query need to keep all but {eps} of its attention, and how does that number grow with the keys it sees?
Over the heads, the median query needs from {percent(shares[0])} to {percent(shares[-1])} of what it sees. Five laws compete for each head, the
last of them a warning: Gaussian logits of a fixed spread grow almost like a power too, so that a power law is believed only where it beats
them. Heads by law: {told}. {exponents}</p>
{head_table(profile, counted)}
<p class="source">Medians over {profile["queries"]} queries. The interval for C respects that neighbouring queries depend on each other; a head of
which no law fits has law none, and its C describes growth all the same. From {html.escape(name)}; counted: from {html.escape(trace_name)}, with
numpy in f64.</p>
<figure class="scroll">{svg(growth_chart(profile["heads"]), f"Keys needed for all but {profile['eps'][0]:g} of the mass against keys seen, for each head")}
<figcaption>Keys needed against keys seen, both logarithmic. Dots: medians of neighbouring queries, bars from the 10th to the 90th percentile; line: the
law; dashes: what Gaussian logits with each query's own spread would need. From {html.escape(name)}.</figcaption></figure>
{rules_section(profile, eps, name)}"""
