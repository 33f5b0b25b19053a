"""Describes what the demo found in a few plain sentences, from the reports that its page shows."""

import textwrap

import numpy as np
from demo_decide import answer
from demo_html import percent
from demo_profile import LAWS
from demo_realise import short

WIDTH = 100


def plain(markup):
    """Turns α·n<sup>C</sup> into α·n^C."""
    return markup.replace("<sup>", "^").replace("</sup>", "").replace("<b>", "").replace("</b>", "")


def dense_words(report):
    return (
        f"Attention: {report['queries']:,} queries in {len(report['layers'])} layers, dense; the largest error "
        f"against f64 is {report['error']['true']['max']:.1e}."
    )


def profile_words(profile):
    heads = profile["heads"]
    shares = sorted(head["share"]["median"] for head in heads)
    laws = [head["law"] for head in heads]
    by_law = ", ".join(
        f"{plain(LAWS[law])} {laws.count(law)}"
        for law in sorted(set(laws), key=lambda law: (-laws.count(law), law))
    )
    growing = [head["C"] for head in heads if head["C_low"] is not None]
    median = f"; median C {np.median(growing):.2f}" if growing else ""
    return (
        f"Sparsity: to keep all but {percent(profile['eps'][0])} of its attention, the median query of a head needs "
        f"{percent(shares[0])} to {percent(shares[-1])} of the keys that it sees. Laws by which that grows, of "
        f"{len(heads)} heads: {by_law}{median}."
    )


def sparse_words(run):
    report = run.report
    tau, error = report["tau"], report["error"]
    return (
        f"Sparse, {run.budget}: half of the queries read at most {percent(report['bytes']['median'])} of the bytes of "
        f"dense attention. Proven: τ at most {percent(tau['median'])}, output off by at most {error['median']:.2g}; "
        f"true: {error['true']['median']:.2g}, and {percent(report['relative_error']['median'])} of the output's "
        f"length (medians). Budget met by {report['reached']['met']:,} of {sum(report['reached'].values()):,}."
    )


def certificate_words(reports):
    violated = sum(report["violations"] for report in reports)
    return f"Certificates violated: {violated} of {sum(report['queries'] for report in reports):,}."


def pattern_words(examples, frontier):
    held = [one for one in examples if one.verdict["holds"] and one.margin > 0]
    words = f"Patterns: {len(held)} of {len(examples)} witnesses hold, in exact arithmetic and by numpy."
    if held:
        words += (
            " Their dimensions: "
            + "; ".join(f"{one.report['dim']} ({one.words})" for one in held)
            + "."
        )
    points = [point for point in frontier["points"] if point["verified"]]
    if points:
        few, many = points[0], points[-1]
        words += (
            f" Fewer need longer vectors: the smallest norm product found for {frontier['rows']:,} rows is "
            f"{short(few['norm_product'])} in {few['dim']}, {short(many['norm_product'])} in {many['dim']}."
        )
    return words


def decision_words(questions):
    known = "; ".join(f"{plain(answer(one.report))} ({one.title})" for one in questions)
    return f"Decided, the fewest dimensions in which nonzeros are above zeros: {known}."


def findings(report, runs, profile, examples, frontier, questions):
    """Returns paragraphs for a terminal. Parts that the demo did not run are left out."""
    found = [dense_words(report)]
    if profile:
        found.append(profile_words(profile))
    found += [sparse_words(run) for run in runs]
    found.append(certificate_words([report, *(run.report for run in runs)]))
    if examples:
        found.append(pattern_words(examples, frontier))
    if questions:
        found.append(decision_words(questions))
    return [textwrap.fill(words, WIDTH, subsequent_indent="  ") for words in found]
