"""Small tables in HTML for notebooks. Everything that is shown is escaped: names and texts may come
from files.
"""

import math
from collections.abc import Iterable, Sequence
from html import escape
from typing import Any

from ._tamis import printable

LEFT = "text-align:left"
RIGHT = "text-align:right"


def text(value: Any) -> str:
    """Returns any value as safe HTML, with control characters made visible."""
    return escape(printable(str(value)))


def number(value: float | None) -> str:
    """Returns three digits of a number, or a dash if there is none or it is not finite."""
    if value is None or not math.isfinite(value):
        return "–"
    if isinstance(value, int):
        return str(value)
    return f"{value:.3g}" if abs(value) < 100 else f"{value:.0f}"


def percent(share: float | None) -> str:
    """Returns a share in per cent, or a dash if there is none."""
    return "–" if share is None or not math.isfinite(share) else f"{100 * share:.1f}%"


def table(
    heading: Sequence[str],
    rows: Iterable[Sequence[Any]],
    caption: str = "",
    words: Sequence[int] = (),
) -> str:
    """Returns a table. Cells are right-aligned, but for those of the columns `words`."""
    lines = ["<table>"]
    if caption:
        lines.append(f'<caption style="{LEFT}">{text(caption)}</caption>')
    lines.append(f"<thead>{_row('th', heading, words)}</thead>")
    lines.append("<tbody>")
    lines += [_row("td", row, words) for row in rows]
    lines.append("</tbody></table>")
    return "\n".join(lines)


def facts(title: str, pairs: Iterable[tuple[str, Any]]) -> str:
    """Returns a table of two columns, names and values, without those that are None."""
    lines = ["<table>", f'<caption style="{LEFT}"><b>{text(title)}</b></caption>', "<tbody>"]
    for name, value in pairs:
        if value is not None:
            lines.append(
                f'<tr><th style="{LEFT}">{text(name)}</th>'
                f'<td style="{LEFT}">{text(value)}</td></tr>'
            )
    lines.append("</tbody></table>")
    return "\n".join(lines)


def _row(tag: str, cells: Sequence[Any], words: Sequence[int]) -> str:
    made = (
        f'<{tag} style="{LEFT if i in words else RIGHT}">{text(cell)}</{tag}>'
        for i, cell in enumerate(cells)
    )
    return f"<tr>{''.join(made)}</tr>"
