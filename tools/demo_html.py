"""Pieces of the pages' HTML: the style, numbers, tiles, tables and the document around them."""

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
th, td { text-align: right; padding: .42rem .6rem; border-bottom: 1px solid var(--line); white-space: nowrap; }
th:first-child, td:first-child { text-align: left; padding-left: 0; } th:last-child, td:last-child { padding-right: 0; }
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
.key { display: flex; flex-wrap: wrap; gap: .2rem 1.4rem; font-size: .86rem; color: var(--soft); margin: 1.2rem 0 .2rem; }
.key span::before { content: ""; display: inline-block; width: .75rem; height: .75rem; border-radius: .15rem;
                    margin-right: .45rem; vertical-align: -.05rem; background: var(--depth); }
.bars { display: grid; grid-template-columns: max-content 1fr max-content; gap: .35rem .9rem; align-items: center;
        font-size: .93rem; font-variant-numeric: tabular-nums; margin: .3rem 0 1rem; }
.bars b { grid-column: 1 / -1; font-weight: 500; margin-top: .7rem; }
.track { display: flex; height: 1.15rem; background: var(--line); border-radius: .25rem; overflow: hidden; }
.track i { background: var(--depth); }
.depth-4 { --depth: #b9dbec; } .depth-8 { --depth: #7db4d6; } .depth-12 { --depth: #3f8fc4; } .depth-16 { --depth: #1d5a9e; }
.depth-centre { --depth: var(--line); } .depth-raw { --depth: #c8762b; }
dl { display: grid; grid-template-columns: max-content 1fr; gap: .3rem 1.2rem; font-size: .93rem; margin: 1rem 0; }
dt { color: var(--soft); } dd { margin: 0; overflow-wrap: anywhere; }
.answers { gap: .8rem 1.2rem; max-width: 56rem; } .answers span { display: block; } a { color: var(--accent); }
@media (max-width: 40rem) { .answers { display: block; } .answers dd { margin-bottom: 1rem; } .scroll svg { max-width: none; width: 42rem; } .maps { grid-template-columns: repeat(2, 1fr); } h1 { font-size: 2rem; } }
"""


def power(value):
    """Formats 6.2e-06 as 6.2 × 10⁻⁶."""
    mantissa, exponent = f"{value:.1e}".split("e")
    return f"{mantissa} × 10<sup>{int(exponent)}</sup>".replace("-", "−")


def tile(number, words):
    return f'<div class="tile"><b>{number}</b><span>{words}</span></div>'


def percent(share):
    """Formats a share as 28 %, small ones with two digits as 0.13 %. The space does not break."""
    return (
        f"{100 * share:.2g}\N{NO-BREAK SPACE}%"
        if share < 0.1
        else f"{100 * share:.0f}\N{NO-BREAK SPACE}%"
    )


def table(names, rows):
    heading = "".join(f"<th>{name}</th>" for name in names)
    body = "".join("<tr>" + "".join(f"<td>{cell}</td>" for cell in row) + "</tr>" for row in rows)
    return f'<div class="scroll"><table><thead><tr>{heading}</tr></thead><tbody>{body}</tbody></table></div>'


def document(title, body):
    return (
        '<!doctype html>\n<html lang="en"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        f"<title>{title}</title><style>{STYLE}</style></head>"
        f"<body><main>{body}</main></body></html>\n"
    )
