"""Positions of the texts in an SVG picture, with their widths as vl-convert measures them."""

import re
import xml.etree.ElementTree as ElementTree
from dataclasses import dataclass

import numpy as np
import pytest

vl_convert = pytest.importorskip("vl_convert")

SIZE = 100  # font size at which texts are measured, in pixels
WIDER = 1.2  # other fonts, such as DejaVu Sans and Verdana, are nearly this much wider


@dataclass
class Text:
    words: str
    # The line of letters: its box is as wide as the letters and has no height.
    left: float
    right: float
    top: float
    bottom: float


def widths(texts):
    """The width of each (words, weight), in units of the font size. Vega lays the texts out side by
    side and says where each begins."""
    marks = [
        {"text": {"value": words}, "fontSize": {"value": SIZE}, "fontWeight": {"value": weight}}
        | {"font": {"value": "sans-serif"}}
        for words, weight in [*texts, ("", "normal")]
    ]
    groups = [
        {"type": "group", "marks": [{"type": "text", "encode": {"enter": mark}}]} for mark in marks
    ]
    layout = {"columns": len(groups), "padding": 0, "align": "none", "bounds": "full"}
    drawn = vl_convert.vega_to_svg({"padding": 0, "layout": layout, "marks": groups})
    places = re.findall(
        r'<g transform="translate\(([\d.]+),[\d.]+\)"><path class="background"', drawn
    )
    starts = [float(place) for place in places[-len(groups) :]]
    return {text: (b - a) / SIZE for text, a, b in zip(texts, starts, starts[1:], strict=False)}


def matrix(transform):
    """The matrix of an SVG transform made of translations, rotations and scalings."""
    made = np.eye(3)
    for name, numbers in re.findall(r"(\w+)\(([^)]*)\)", transform or ""):
        a, b = ([float(x) for x in re.split("[ ,]+", numbers.strip())] + [0.0])[:2]
        if name == "translate":
            step = [[1, 0, a], [0, 1, b], [0, 0, 1]]
        elif name == "rotate":
            c, s = np.cos(np.radians(a)), np.sin(np.radians(a))
            step = [[c, -s, 0], [s, c, 0], [0, 0, 1]]
        else:
            assert name == "scale"
            step = [[a, 0, 0], [0, b or a, 0], [0, 0, 1]]
        made = made @ np.array(step)
    return made


def visible(element, place, found):
    if element.get("opacity") == "0":
        return
    place = place @ matrix(element.get("transform"))
    if element.tag.endswith("}text") and element.text:
        found.append((element, place))
    for child in element:
        visible(child, place, found)


def texts_of(svg, wider):
    """The texts visible in a font `wider` times vl-convert's width, and the picture's size."""
    root = ElementTree.fromstring(svg)
    found = []
    visible(root, np.eye(3), found)
    weights = [(element.text, element.get("font-weight") or "normal") for element, _ in found]
    em = widths(list(dict.fromkeys(weights)))
    texts = []
    for (element, place), weight in zip(found, weights, strict=True):
        width = em[weight] * float(element.get("font-size").removesuffix("px")) * wider
        start = {"middle": -width / 2, "end": -width}.get(element.get("text-anchor"), 0)
        (x1, x2), (y1, y2), _ = place @ np.array([[start, start + width], [0, 0], [1, 1]])
        texts.append(Text(element.text, min(x1, x2), max(x1, x2), min(y1, y2), max(y1, y2)))
    return texts, (float(root.get("width")), float(root.get("height")))


def expect_room(svg):
    """Checks that every text is whole, inside the picture, and apart from the next on its line."""
    texts, (width, height) = texts_of(svg, WIDER)
    assert len(texts) > 5
    assert [t for t in texts if "…" in t.words] == []
    assert [
        t for t in texts if t.left < 0 or t.right > width or t.top < 0 or t.bottom > height
    ] == []
    lines = sorted((t for t in texts if t.bottom - t.top < 1), key=lambda t: (t.top, t.left))
    assert [
        (a.words, b.words)
        for a, b in zip(lines, lines[1:], strict=False)
        if a.top == b.top and a.right > b.left
    ] == []
