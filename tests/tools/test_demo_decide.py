"""The demo page's part on decided patterns: its own check of the evidence, and the page itself."""

import json
import sys
from fractions import Fraction

import numpy as np
import pytest
from conftest import ROOT, tamis
from refutations import refutes

pytest.importorskip("altair")
pytest.importorskip("vl_convert")
sys.path.insert(0, str(ROOT / "tools"))


def decided(folder, name, pattern, *options):
    """The files that tools/demo.sh leaves in the folder."""
    (folder / (name + pattern.suffix)).write_bytes(pattern.read_bytes())
    files = {
        "witness": folder / f"{name}.safetensors",
        "refutation": folder / f"{name}.refutation.json",
    }
    places = ["--out", files["witness"], "--refutation", files["refutation"], "--json"]
    (folder / f"{name}.decide.json").write_text(tamis("decide", pattern, *options, *places).stdout)
    for kind, file in files.items():
        if file.exists():
            (folder / f"{name}.{kind}.verify.json").write_text(
                tamis("verify", pattern, file, "--weak", "--json").stdout
            )


@pytest.fixture
def folder(tmp_path):
    made, kept = tmp_path / "made", tmp_path / "kept"
    made.mkdir()
    kept.mkdir()
    tamis("pattern", "banded", "--n", 12, "--reach", 0, "--out", made / "identity.mtx")
    tamis("pattern", "pairs", "--n", 7, "--out", made / "pairs.mtx")
    decided(kept, "identity", made / "identity.mtx")
    decided(kept, "pairs", made / "pairs.mtx", "--dim", 3)
    decided(kept, "recipes", ROOT / "data" / "recipes.qrels")
    return kept


NAMES = ["identity", "pairs", "recipes"]


def test_the_page_agrees_with_verify(folder):
    import demo_decide

    for one in demo_decide.read_questions(folder, NAMES):
        dense = np.array([[j in row for j in range(one.columns)] for row in one.sets])
        assert dense.sum() == one.report["nonzeros"] and dense.shape[0] == one.report["rows"]
        assert one.refuted and one.verdicts["refutation"] and refutes(dense, one.refutation)
        if one.witness:
            said = json.loads((folder / f"{one.name}.witness.verify.json").read_text())
            assert isinstance(one.margin, Fraction) and one.margin > 0
            # The margin is accurate to f64's rounding.
            assert said["margin"] == pytest.approx(float(one.margin), abs=1e-12)
        assert bool(one.witness) == (one.report["upper"] is not None)


def test_evidence_that_is_wrong_is_counted_out(folder):
    import demo_decide

    identity, pairs, recipes = demo_decide.read_questions(folder, NAMES)
    identity.witness["q"][0] = -identity.witness["q"][0]
    assert identity.margin < 0
    identity.refutation["relations"][0]["same"] = True
    assert identity.refuted is False
    pairs.refutation["dim"] += 1
    assert pairs.refuted is False
    recipes.refutation["cuts"][1] = recipes.refutation["cuts"][2]
    assert recipes.refuted is False
    text = demo_decide.section([identity, pairs, recipes])
    witnesses = sum(bool(one.witness) for one in (identity, pairs, recipes))
    assert (
        f"{witnesses - 1} of {witnesses} witnesses hold" in text and "in the pattern 0 hold" in text
    )
    assert text.count("does not hold; holds") == 4


def test_the_section_names_documents_and_links_its_files(folder):
    import demo_decide

    questions = demo_decide.read_questions(folder, NAMES)
    text = demo_decide.section(questions)
    recipes = questions[-1]
    assert recipes.report["dim"] == 3 and "Every way to divide documents lentil-soup" in text
    assert "<svg" in text and text.count("<circle") == text.count("<line") == 12
    for file in folder.iterdir():
        if "verify" not in file.name:
            assert f'href="{file.name}"' in text
    assert text.count("href=") == len(
        [file for file in folder.iterdir() if "verify" not in file.name]
    )


def test_what_is_open_or_a_solvers_word_is_said_to_be(folder):
    import demo_decide

    (one,) = demo_decide.read_questions(folder, ["recipes"])
    one.report |= {"lower": 2, "upper": 5}
    one.report["evidence"]["lower"] |= {"grounds": "solver", "proved": False}
    one.refutation, one.verdicts["refutation"] = {"grounds": "solver"}, False
    text = demo_decide.section([one])
    assert "<b>2 to 5</b>, open" in text and "(a solver's word, not a proof)" in text
    assert (
        "not looked up; does not hold" in text and "of 0 refutations" in text and "<svg" not in text
    )
    one.report["upper"], one.report["evidence"]["upper"], one.witness = None, None, {}
    text = demo_decide.section([one])
    assert "<b>at least 2</b>, open" in text and "No witness was found." in text
