"""The charts of the demo's page: no text leaves the picture or touches its neighbour, even if the
reader's font is wider than the one used for the layout."""

import sys
from types import SimpleNamespace

import numpy as np
import pytest
from chart_texts import expect_room
from conftest import ROOT, tamis

pytest.importorskip("altair")
pytest.importorskip("vl_convert")
sys.path.insert(0, str(ROOT / "tools"))

TOKENS = 8192
LAYERS, HEADS = (3, 12, 21), (0, 1, 2)


def heads():
    import demo_charts

    random = np.random.default_rng(1)
    share = np.minimum(1, demo_charts.ranks(TOKENS) / 1000)
    for layer in LAYERS:
        for head in HEADS:
            weights = random.random((64, demo_charts.BINS))
            curve = np.stack([0.8 * share, 0.9 * share, share])
            yield SimpleNamespace(
                layer=layer, head=head, map=weights, curve=curve, keys_for_95=1234
            )


def growth():
    lengths = (1440, 2474, 4470, 8156)
    return [
        {
            "layer": layer,
            "head": head,
            "growth": [
                {
                    "n": n,
                    "k_eps": {"p10": n / 99, "median": n / 9, "p90": n},
                    "law": n / 8,
                    "null": n / 3,
                }
                for n in lengths
            ],
        }
        for layer in LAYERS
        for head in HEADS
    ]


def errors():
    spread = np.geomspace(1e-9, 1e-6, 50)
    return [(layer, spread, 1e5 * spread) for layer in LAYERS]


def frontier():
    points = [
        {"dim": dim, "norm_product": 30793 / dim**2, "method": "descent", "verified": True}
        for dim in (2, 3, 4, 6, 8, 12, 16, 24, 32, 48)
    ]
    return {"points": points, "paper_norm": 3.3, "lower_bound": 2.3}


BUDGETS = ["mass:0.05", "mass:0.01"]
SEEN = np.linspace(1000, TOKENS, 24)


def readings():
    return [
        (layer, budget, SEEN, *([s] * 24 for s in (0.2, 0.4, 0.8)))
        for layer in LAYERS
        for budget in BUDGETS
    ]


def trades():
    return [
        (budget, layer, head, 0.2 + 0.01 * head, 1e-4, 0.5)
        for budget in BUDGETS
        for layer in LAYERS
        for head in HEADS
    ]


CHARTS = {
    "map": lambda c: c.map_chart(
        next(heads()), np.linspace(1000, TOKENS - 1, 64), TOKENS, 800, 600
    ),
    "error": lambda c: c.error_chart(errors()),
    "curve": lambda c: c.curve_chart(list(heads()), TOKENS),
    "growth": lambda c: c.growth_chart(growth()),
    "frontier": lambda c: c.frontier_chart(frontier()),
    "reading": lambda c: c.reading_chart(readings(), BUDGETS),
    "trade": lambda c: c.trade_chart(trades(), BUDGETS),
}


@pytest.mark.parametrize("name", CHARTS)
def test_texts_of_the_demos_charts_have_room(name):
    import demo_charts

    expect_room(demo_charts.svg(CHARTS[name](demo_charts), name))


def fig3(folder):
    axes = ["n=32,48,64", "k=1,2", "gamma=1", "eps1=0.5", "matrices=2", "step=4"]
    words = [word for axis in axes for word in ("--set", axis)]
    tamis(
        "sweep", "fig3", *words, "--store", folder / "s.sqlite", "--vega", folder / "fig3.vl.json"
    )
    return folder / "fig3.vl.json"


def test_texts_of_a_chart_that_the_program_wrote_have_room(tmp_path):
    import demo_charts

    expect_room(demo_charts.drawn(fig3(tmp_path), "fig3"))
