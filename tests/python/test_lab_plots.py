"""Charts: valid Vega-Lite, with the numbers of the results, that a renderer can draw."""

import builtins
import json

import numpy as np
import pytest
import tamis
from conftest import DATA, ROOT

altair = pytest.importorskip("altair")
converter = pytest.importorskip("vl_convert")

PATTERN = ROOT / "data" / "pattern-32.mtx"


def drawn(chart):
    """Validates a chart, draws it, and returns its values."""
    described = chart.to_dict()
    assert converter.vegalite_to_png(json.dumps(described)).startswith(b"\x89PNG")
    found = []

    def collect(part):
        if isinstance(part, dict):
            for name, value in part.items():
                if name == "values" and value and isinstance(value, list):
                    found.extend(value)
                collect(value)
        elif isinstance(part, list):
            for one in part:
                collect(one)

    collect(described)
    for values in described.get("datasets", {}).values():
        found.extend(values)
    return found


@pytest.fixture(scope="module")
def profiled():
    return tamis.profile(DATA)


def test_growth_shows_every_bin_of_every_head(profiled):
    values = drawn(profiled.plot())
    medians = sorted(value["median"] for value in values if "median" in value)
    assert medians == sorted(
        growth["k_eps"]["median"] for head in profiled.heads for growth in head["growth"]
    )
    other = drawn(profiled.plot(eps=0.05))
    assert sorted(value["median"] for value in other if "median" in value) != medians


def test_laws_and_collapse_are_drawn(profiled):
    values = drawn(profiled.plot("laws"))
    assert {(value["layer"], value["head"], value["law"]) for value in values} == {
        (head["layer"], head["head"], head["law"]) for head in profiled.heads
    }
    values = drawn(profiled.plot("collapse"))
    assert len(values) == 3 * sum(len(layer["collapse"]) for layer in profiled.layers)


def test_unknown_charts_are_refused(profiled):
    with pytest.raises(tamis.Error, match="'pie'"):
        profiled.plot("pie")
    with pytest.raises(KeyError, match=r"0\.5"):
        profiled.plot(eps=0.5)


def test_a_profile_of_few_rows_is_drawn(trace):
    made = tamis.profile(trace)
    for what in ("growth", "laws", "collapse"):
        drawn(made.plot(what))


def test_patterns_show_their_nonzeros():
    pattern = tamis.load_pattern(PATTERN)
    places = {(value["row"], value["column"]): value["x"] for value in drawn(pattern.plot())}
    a = pattern.to_array()
    assert places == {(i, j): a[i, j] for i, j in zip(*np.nonzero(a), strict=True)}


def test_large_patterns_are_drawn_in_coarse_cells():
    pattern = tamis.permutations_pattern(5000, 2)
    values = drawn(pattern.plot())
    assert 0 < len(values) <= 128**2
    assert all(value["row_end"] - value["row"] == 40 for value in values)


def test_the_attention_of_a_witness_is_drawn_beside_its_pattern():
    found = tamis.realise(PATTERN, 4, steps=200)
    values = drawn(found.plot())
    assert len(values) >= 2 * found.pattern.nonzeros
    with pytest.raises(tamis.Error, match="no witness"):
        tamis.realise(np.eye(6), 1, method="descent", steps=5).plot()


def test_the_frontier_has_a_point_for_each_witness():
    found = tamis.frontier(PATTERN, [1, 3, 4, 8], steps=200)
    values = drawn(found.plot())
    products = [value["value"] for value in values if value.get("what") == "norm product"]
    assert products == [point.norm_product for point in found.points if point.verified]


def test_without_altair_the_sentence_says_how_to_install_it(monkeypatch, profiled):
    real = builtins.__import__

    def lacking(name, *args, **kwargs):
        if name == "altair":
            raise ImportError(name)
        return real(name, *args, **kwargs)

    monkeypatch.setattr(builtins, "__import__", lacking)
    with pytest.raises(ImportError, match=r'pip install "tamis\[plots\]"'):
        profiled.plot()
