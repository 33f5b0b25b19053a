"""tamis frontier: points, marks and chart; each point equals tamis realise at that dimension."""

import json
import re

import numpy as np
import pytest
from conftest import digest, sentence_of, tamis
from witnesses import cycles, save_pattern

QUICK = ["--steps", 200]


@pytest.fixture
def pattern(tmp_path):
    return save_pattern(tmp_path / "a.npy", cycles(24, 1))


def frontier(pattern, *args):
    return json.loads(tamis("frontier", pattern, *args, "--json").stdout)


def without_seconds(report):
    points = [{k: v for k, v in point.items() if k != "seconds"} for point in report["points"]]
    return {k: v for k, v in report.items() if k != "threads"} | {"points": points}


def test_points_are_those_of_realise(pattern):
    said = frontier(pattern, "--dims", "1,4,8", *QUICK)
    assert [point["dim"] for point in said["points"]] == [1, 4, 8]
    none, *found = said["points"]
    assert not none["verified"] and none["why"] and none["norm_product"] is none["method"] is None
    for point in found:
        one = json.loads(tamis("realise", pattern, "--dim", point["dim"], *QUICK, "--json").stdout)
        assert {k: one[k] for k in ("method", "norm_product", "max_logit")} == {
            k: point[k] for k in ("method", "norm_product", "max_logit")
        }
        assert (one["paper_norm"], one["norm_lower_bound"]) == (
            said["paper_norm"],
            said["lower_bound"],
        )
        assert (one["bound_6"], one["bound_sharper"]) == (said["bound_6"], said["bound_sharper"])
    assert said["lower_bound"] == pytest.approx(np.log(10) * 22 / 24, rel=1e-12)
    text = " ".join(tamis("frontier", "--help").stdout.split())
    points, rest = re.search(r"prints \{points: \[\{(.*?)\}\], (.*?), \.\.\.\}", text).groups()
    assert set(points.split(", ")) == set(none) and set(rest.split(", ")) <= set(said)


def test_the_table_says_the_same(pattern):
    said = frontier(pattern, "--dims", "1,4,8", *QUICK)
    text = tamis("frontier", pattern, "--dims", "1,4,8", *QUICK).stdout
    assert f"lower bound    norm product {said['lower_bound']:.6g}\n" in text
    assert f"equation (9)   norm product {said['paper_norm']:.6g}\n" in text
    rows = [line.split() for line in text.splitlines()[-3:]]
    assert rows[0][:3] == ["1", "-", "-"] and said["points"][0]["why"] in text
    for row, point in zip(rows[1:], said["points"][1:], strict=True):
        expected = [str(point["dim"]), f"{point['norm_product']:.5g}", f"{point['max_logit']:.5g}"]
        assert row[:4] == [*expected, point["method"]]


def test_threads_do_not_decide(pattern):
    runs = [frontier(pattern, "--dims", "4,8", *QUICK, "--threads", threads) for threads in (1, 3)]
    assert without_seconds(runs[0]) == without_seconds(runs[1])


def test_the_usual_dimensions_are_below_the_columns(pattern):
    said = frontier(pattern, "--steps", 20)
    assert [point["dim"] for point in said["points"]] == [2, 3, 4, 6, 8, 12, 16]


def test_weak_conditions_have_no_bounds(pattern, tmp_path):
    said = frontier(pattern, "--dims", "6", *QUICK, "--weak")
    assert said["lower_bound"] == 0
    assert said["paper_norm"] is said["bound_6"] is said["bound_sharper"] is None
    chart = tmp_path / "v.json"
    text = tamis("frontier", pattern, "--dims", "6", *QUICK, "--weak", "--vega", chart).stdout
    assert layers_with(json.loads(chart.read_text())["layer"], "rule") == []
    assert "lower bound    none is known\n" in text and text.count("none for weak conditions") == 3


def layers_with(layers, mark):
    """The data of the layers that have marks of this kind."""
    return [
        layer["data"]["values"]
        for layer in layers
        if any(part["mark"]["type"] == mark for part in layer.get("layer", []))
    ]


def test_vega_is_a_chart_of_the_same_numbers(pattern, tmp_path):
    convert = pytest.importorskip("vl_convert")
    said = frontier(pattern, "--dims", "1,4,8", *QUICK, "--vega", tmp_path / "v.json")
    spec = json.loads((tmp_path / "v.json").read_text())
    assert spec["$schema"].endswith("vega-lite/v5.json")
    expected = [
        (point["dim"], what, point[name])
        for point in said["points"]
        for what, name in (("norm product", "norm_product"), ("max |L|", "max_logit"))
        if point["verified"]
    ]
    assert [(row["dim"], row["what"], row["value"]) for row in spec["data"]["values"]] == expected
    levels = [row["y"] for rows in layers_with(spec["layer"], "rule") for row in rows]
    assert levels == [said["paper_norm"], said["lower_bound"]]
    svg = convert.vegalite_to_svg(spec)
    for word in ("which the paper projects", "no witness below", "norm product", "max |L|"):
        assert word in svg
    assert "NaN" not in svg


def test_vega_marks_bounds_that_say_something(tmp_path):
    convert = pytest.importorskip("vl_convert")
    pattern = save_pattern(tmp_path / "a.npy", np.eye(2000))
    # Bounds fall with log(gamma/eps1)/eps2, and `eye` has the fewest nonzeros.
    loose = ["--eps1", 0.99, "--eps2", 100, "--dims", "4", "--steps", 2]
    said = frontier(pattern, *loose, "--vega", tmp_path / "v.json")
    assert 0 < said["bound_sharper"] <= said["bound_6"] <= 2000
    spec = json.loads((tmp_path / "v.json").read_text())
    marks = [row for rows in layers_with(spec["layer"], "point") for row in rows]
    assert [(m["dim"], m["name"]) for m in marks] == [
        (said["bound_6"], "bound (6)"),
        (said["bound_sharper"], "sharper bound"),
    ]
    assert "sharper bound" in convert.vegalite_to_svg(spec)


BAD = {
    "eps1 of 1": (["--eps1", 1], "eps1 is 1"),
    "eps2 of 0": (["--eps2", 0], "eps2 is 0"),
    "weak with eps2": (["--weak", "--eps2", 1], "--weak looks at neither"),
    "above the diagonal": (["--causal"], "above the diagonal"),
    "dimension 0": (["--dims", 0], "at least 1"),
    "descending": (["--dims", "4,2"], "must ascend"),
    "no number": (["--dims", "4,x"], "--dims: 'x' is not a number"),
    "no steps": (["--steps", 0], "--steps: '0' is not"),
    "itself": (["--vega", "a.npy"], "--vega: a.npy: is the file that PATTERN reads"),
}


@pytest.mark.parametrize("name", BAD)
def test_bad_input_is_one_sentence(pattern, tmp_path, name):
    options, part = BAD[name]
    before = digest(pattern)
    place = [] if "--vega" in options else ["--vega", tmp_path / "v.json"]
    sentence = sentence_of(tamis("frontier", "a.npy", *options, *place, status=2, cwd=tmp_path))
    assert part in sentence and len(sentence) < 150, sentence
    assert [p.name for p in tmp_path.iterdir()] == ["a.npy"] and digest(pattern) == before


def test_a_place_that_cannot_be_written_is_found_before_the_work(pattern, tmp_path):
    done = tamis(
        "frontier", pattern, "--steps", 10**12, "--vega", tmp_path / "no" / "v.json", status=3
    )
    assert "--vega: " in sentence_of(done) and "there is no folder" in sentence_of(done)
