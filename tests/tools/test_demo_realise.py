"""The demo page's part on realised patterns: its own check of a witness, and the page itself."""

import json
import sys

import numpy as np
import pytest
from conftest import ROOT, tamis

pytest.importorskip("altair")
pytest.importorskip("vl_convert")
sys.path.insert(0, str(ROOT / "tools"))


def realised(folder):
    names = ["ring"]
    tamis("pattern", "banded", "--n", "12", "--reach", "1", "--out", folder / "ring.mtx")
    options = ["--dim", "5", "--steps", "300", "--out", folder / "ring.safetensors", "--json"]
    (folder / "ring.realise.json").write_text(
        tamis("realise", folder / "ring.mtx", *options).stdout
    )
    done = tamis("verify", folder / "ring.mtx", folder / "ring.safetensors", "--json")
    (folder / "ring.verify.json").write_text(done.stdout)
    done = tamis("frontier", folder / "ring.mtx", "--dims", "1,5", "--steps", "300", "--json")
    (folder / "frontier.json").write_text(done.stdout)
    return names


def test_the_slack_counted_here_is_the_margin_verified(tmp_path):
    import demo_realise

    (example,) = demo_realise.read_examples(tmp_path, realised(tmp_path))
    assert example.verdict["holds"]
    assert example.margin == pytest.approx(example.verdict["margin"], abs=1e-12)


def test_a_witness_that_misses_is_counted_out(tmp_path):
    import demo_realise

    pattern = [(np.array([0]), np.array([1.0])), (np.array([0, 1]), np.array([1.0, 2.0]))]
    conditions = {"eps1": 0.1, "eps2": 1.0, "weak": False}
    q, k = np.array([[3.0], [0.0]]), np.array([[1.0], [0.0]])
    # Row 0 has 3 - log 10 to spare. Row 1 is off by log 2 where it needs 1.
    assert demo_realise.least_slack(pattern, q, k, conditions) == pytest.approx(1 - np.log(2))
    assert demo_realise.least_slack(pattern, q / 2, k, conditions) == pytest.approx(
        1.5 - np.log(10)
    )


def test_the_section_shows_dimensions_where_nothing_was_found(tmp_path):
    import demo_realise

    examples = demo_realise.read_examples(tmp_path, realised(tmp_path))
    frontier = json.loads((tmp_path / "frontier.json").read_text())
    assert [point["verified"] for point in frontier["points"]] == [False, True]
    text = demo_realise.section(examples, frontier, "frontier.json")
    assert "1 of 1 hold" in text and "<svg" in text and "nan" not in text.split("<svg")[0]
