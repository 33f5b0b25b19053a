"""Charts in Vega-Lite as SVG that other machines draw. vl-convert lays a chart out by the letter
widths of a font of its own, Liberation Sans. A browser draws the texts in the reader's font,
and a wider one would leave the picture or run into its neighbour. Charts are therefore laid out
with letters ROOM times as large as they are then drawn."""

import copy
import re

import vl_convert

ROOM = 1.25  # DejaVu Sans and Verdana, the widest in common use, are 10 to 20 % wider
# Vega's default sizes.
SIZES = {"guide-label": 10, "guide-title": 11, "group-title": 13, "group-subtitle": 12}
TEXT = 11


def enlarged(name, value):
    """Returns a member of a spec with all its font sizes multiplied by ROOM. Data have none."""
    if name.lower().endswith("fontsize"):
        return value * ROOM
    if isinstance(value, dict) and name not in ("data", "datasets"):
        return {inner: enlarged(inner, part) for inner, part in value.items()}
    if isinstance(value, list):
        return [enlarged("", part) for part in value]
    return value


def with_room(spec):
    """Returns the spec as it is laid out. Texts are never cut: the chart grows as wide as they
    need."""
    spec = copy.deepcopy(spec)
    config = spec.setdefault("config", {})
    for name, size in SIZES.items():
        config.setdefault("style", {}).setdefault(name, {}).setdefault("fontSize", size)
    config.setdefault("text", {}).setdefault("fontSize", TEXT)
    for part in ("axis", "legend", "header"):
        config[part] = {"labelLimit": 0, "titleLimit": 0} | config.get(part, {})
    return enlarged("spec", spec)


def chart_svg(spec):
    """Returns the SVG of a chart that is given as a dictionary."""
    text = vl_convert.vegalite_to_svg(with_room(spec))
    return re.sub(
        r'font-size="([\d.]+)px"', lambda size: f'font-size="{float(size[1]) / ROOM:g}px"', text
    )
