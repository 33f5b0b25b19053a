"""The part of the demo page about how dimensions grow with n: what `tamis sweep fig3` found on a
small grid, with the command's own Vega-Lite chart."""

import html
import json
from pathlib import Path

from demo_charts import drawn
from demo_html import table


def section(report_file, chart_file):
    """Returns the section, made of what `tamis sweep fig3` printed with --json and wrote with
    --vega."""
    report = json.loads(Path(report_file).read_text())
    claim, finding = (html.escape(sentence) for sentence in report["sentences"])
    heading, *rows = report["fits"]
    fits = table(
        [html.escape(name) for name in heading],
        [[html.escape(cell) for cell in row] for row in rows],
    )
    state = f"{report['done']} of {report['points']} points" + (
        f", {report['failed']} failed" if report["failed"] else ""
    )
    return f"""
<h2>How the dimension grows with n</h2>
<p>The paper draws random projections until one produces the pattern and asks for the least dimension d that succeeds within n
draws: its Figure 3, here on a small grid. Up to 512 rows tamis searches as the paper does, several patterns each; above, it
measures how likely a draw succeeds where that is not rare and reads the median off the curve.</p>
<p>{claim} {finding}</p>
<figure class="scroll">{drawn(chart_file, "Least dimension of the random construction against rows")}
<figcaption>{state}; each is a function of its parameters and a seed, kept in fig3.sqlite, so that the command resumes where it
was stopped. From {html.escape(Path(chart_file).name)}, as <code>tamis sweep fig3 --vega</code> wrote it.</figcaption></figure>
{fits}
<p class="source">slope b: of d = a + b log n, beside those of the bounds; power: the exponent of u·n<sup>v</sup>; +-: 95 % intervals. chi2/df: how far the points are from the law, in units of their errors; near 1 is as close as they can tell.
From {html.escape(Path(report_file).name)}.</p>
"""
