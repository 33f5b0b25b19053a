"""What notebooks show: tables that are well formed, and escape whatever comes from files."""

import json
from html.parser import HTMLParser

import numpy as np
import pytest
import tamis
from conftest import DATA, ROOT, make_tensors
from safetensors.numpy import save_file

HOSTILE = '<script>alert("1")</script>&\x1b[31m'
SHOWN = '<script>alert("1")</script>&\\x1b[31m'


class Reader(HTMLParser):
    """Collects tags and cells, and checks that tags are closed in order."""

    def __init__(self, html):
        super().__init__()
        self.tags, self.open, self.cells = set(), [], []
        self.feed(html)
        self.close()
        assert self.open == []

    def handle_starttag(self, tag, attrs):
        self.tags.add(tag)
        self.open.append(tag)
        if tag in ("td", "th"):
            self.cells.append("")

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        if self.open and self.open[-1] in ("td", "th"):
            self.cells[-1] += data


TAGS = {"table", "caption", "thead", "tbody", "tr", "th", "td", "b"}


def shown(result):
    html = result._repr_html_()
    read = Reader(html)
    assert read.tags <= TAGS and "\x1b" not in html
    return read.cells, html


def test_hostile_names_of_rows_and_columns_are_escaped():
    names = [f"{HOSTILE}{i}" for i in range(4)]
    pattern = tamis.Pattern.from_array(
        [[1, 1, 0, 0], [0, 1, 1, 0], [0, 0, 1, 1], [1, 0, 0, 1]],
        row_names=names,
        column_names=names,
        name=HOSTILE,
    )
    cells, _ = shown(pattern)
    assert SHOWN in cells and ", ".join(f"{SHOWN}{i}" for i in range(4)) in cells
    decision = tamis.decide(pattern)
    cells, _ = shown(decision)
    assert any(SHOWN in cell for cell in cells)
    assert HOSTILE not in decision.evidence["lower"]["words"]


def test_hostile_metadata_is_escaped(tmp_path):
    tensors = make_tensors([0], tokens=10, queries=2)
    save_file(
        tensors,
        tmp_path / "t",
        {"scale": "1", "causal": "true", HOSTILE: HOSTILE, "model": HOSTILE},
    )
    cells, _ = shown(tamis.load_trace(tmp_path / "t"))
    assert cells.count(SHOWN) == 3
    _, html = shown(tamis.profile(tmp_path / "t"))
    assert "&lt;script&gt;" in html
    hostile = tamis.Trace.from_arrays(
        {0: {name: tensors[f"layers.0.{name}"] for name in "qkv"}},
        tensors["positions"],
        name="<script>",
    )
    assert "<script>" not in json.dumps(tamis.profile(hostile).plot("laws").to_dict())
    witness = tamis.Witness(np.eye(2), np.eye(2), made_by={"method": HOSTILE})
    cells, _ = shown(witness)
    assert SHOWN in cells


@pytest.fixture(scope="module")
def pattern():
    return tamis.load_pattern(ROOT / "data" / "pattern-32.mtx")


def test_every_result_has_a_table(pattern):
    realised = tamis.realise(pattern, 4, steps=50)
    circle = [[1, 1, 0, 0], [0, 1, 1, 0], [0, 0, 1, 1], [1, 0, 0, 1]]
    decided = tamis.decide(circle)
    results = [
        pattern,
        realised,
        realised.witness,
        tamis.realise(np.eye(6), 1, method="descent", steps=5),
        tamis.verify(pattern, realised),
        tamis.frontier(pattern, [1, 4], steps=50),
        decided,
        decided.refutation,
        tamis.verify(circle, decided.refutation),
        tamis.verify(np.tri(4), decided.refutation),
        tamis.load_trace(DATA),
    ]
    for result in results:
        cells, html = shown(result)
        assert len(cells) >= 2 and all(cells) and len(html) < 10_000
        assert repr(result) and "object at" not in repr(result)


def test_a_profile_s_table_has_a_line_for_each_head():
    made = tamis.profile(DATA)
    cells, html = shown(made)
    assert html.count("<tr>") == 1 + len(made.heads)
    assert len(cells) % (1 + len(made.heads)) == 0
    budgets = [cell for cell in cells if cell.startswith("power:")]
    for shown_budget, head in zip(budgets, made.heads, strict=True):
        numbers = [
            text.removeprefix("power:").split(",") for text in (shown_budget, head["budget"])
        ]
        assert np.allclose(*np.array(numbers, float), rtol=1e-3)
    assert html.count("text-align:right") > html.count("text-align:left")
