"""decide: known answers, with witnesses and refutations that NumPy checks."""

import json
import shutil

import conftest
import numpy as np
import pytest
import tamis
from conftest import ROOT
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays
from refutations import exact, refutes, weakly_produces

RECIPES = ROOT / "data" / "recipes.qrels"
CROSS = [[1, 1, 0, 0], [0, 1, 1, 0], [0, 0, 1, 1], [1, 0, 0, 1]]
"""Neighbours on a circle: two columns do, one does not."""
BIPARTITE = (np.indices((6, 6)).sum(axis=0) % 2 == 0) * 1.0
UPPER = np.tri(5, 5)
PAIRS, PAIRS_OF_FIVE = (tamis.pairs_pattern(n).to_array() for n in (4, 5))


def produces(a, witness):
    logits = exact(witness.q) @ exact(witness.k).T
    return weakly_produces(np.asarray(a), logits)


@given(
    arrays.arrays(bool, st.tuples(st.integers(1, 6), st.integers(1, 6))),
    st.none() | st.integers(1, 3),
)
@settings(max_examples=150, deadline=None)
def test_evidence_for_any_pattern_is_confirmed_by_numpy(matrix, dim):
    a = matrix * 1.0
    a[a.sum(axis=1) == 0, 0] = 1
    found = tamis.decide(a, dim, time_limit=2, solvers=False)
    if found.witness is not None:
        assert found.witness.dim == found.upper and produces(a, found.witness)
    if found.lower > 1:
        assert found.refutation.dim == found.lower - 1
        assert refutes(a, found.refutation.data) and found.refutation.check(a)
    if dim is None:
        assert (found.verdict == "yes") == (found.lower == found.upper)
    else:
        expected = {"yes": found.upper is not None and found.upper <= dim, "no": found.lower > dim}
        assert expected.get(found.verdict, not any(expected.values()))


KNOWN = {
    "a line": (UPPER, {}, 1),
    "two kinds": (BIPARTITE, {}, 1),
    "a circle": (CROSS, {}, 2),
    "all pairs of four": (PAIRS, {}, 2),
    "recipes": (RECIPES, {}, 3),
}


@pytest.mark.parametrize("case", KNOWN, ids=str)
def test_the_least_dimension_is_found_and_proved(case):
    given, options, least = KNOWN[case]
    pattern = tamis.load_pattern(given) if given is RECIPES else tamis.Pattern.from_array(given)
    a = pattern.to_array()
    found = tamis.decide(pattern, **options)
    assert (found.verdict, found.lower, found.upper, found.dim) == ("yes", least, least, least)
    assert produces(a, found.witness) and tamis.verify(pattern, found, weak=True)
    assert found.verification.holds and found.witness.dim == least
    assert found.words == f"d_min = {least}"
    if least == 1:
        assert found.refutation is None and found.evidence["lower"] is None
    else:
        assert found.refutation.proved and found.refutation.dim == least - 1
        assert refutes(a, found.refutation.data)
        assert tamis.verify(pattern, found.refutation)
        assert found.refutation.check(a).holds


def test_a_no_has_a_refutation_and_a_yes_a_witness():
    no = tamis.decide(CROSS, 1)
    assert no.verdict == "no" and no.dim == 1 and no.upper is None or no.upper > 1
    assert refutes(np.array(CROSS), no.refutation.data)
    yes = tamis.decide(CROSS, 3)
    assert yes.verdict == "yes" and yes.upper <= 3 and produces(CROSS, yes.witness)


def test_a_refutation_of_another_pattern_is_refused():
    refutation = tamis.decide(CROSS, 1).refutation
    check = tamis.verify(UPPER, refutation)
    assert not check and check.why and check.dim == 1
    with pytest.raises(tamis.Error, match="refutation is of weak conditions"):
        tamis.verify(CROSS, refutation, eps1=0.1)


def test_a_hidden_size_binds_queries_and_keys():
    opposite = 1.0 - np.eye(2)
    free = tamis.decide(opposite, 1)
    assert free.verdict == "yes"
    bound = tamis.decide(np.kron(np.eye(2), np.ones((1, 1))), 1, hidden=1)
    assert bound.verdict in ("yes", "no") and bound.hidden == 1
    witness = tamis.decide(CROSS, 2, hidden=4).witness
    x, w_q, w_k = (exact(array) for array in (witness.x, witness.w_q, witness.w_k))
    assert weakly_produces(np.array(CROSS), (x @ w_q) @ (x @ w_k).T)


def verdict_in_words(pattern, *args):
    (line,) = (
        line
        for line in conftest.tamis("decide", pattern, *args).stdout.splitlines()
        if line.startswith("verdict ")
    )
    return line.removeprefix("verdict").strip()


def test_verdicts_are_worded_as_the_program_words_them(tmp_path):
    np.save(tmp_path / "a.npy", np.array(CROSS, float))
    for dim in (1, 2, 3):
        assert tamis.decide(CROSS, dim).words == verdict_in_words(tmp_path / "a.npy", "--dim", dim)


@pytest.mark.parametrize("pattern", [RECIPES, "circle"], ids=["recipes", "circle"])
def test_verdict_and_evidence_are_those_of_the_program(tmp_path, pattern):
    if pattern == "circle":
        pattern = tmp_path / "circle.npy"
        np.save(pattern, np.array(CROSS, float))
    written = (tmp_path / "w", tmp_path / "r")
    told = json.loads(
        conftest.tamis(
            "decide", pattern, "--out", written[0], "--refutation", written[1], "--json"
        ).stdout
    )
    found = tamis.decide(pattern)
    assert found.words == verdict_in_words(pattern)
    for name in ("verdict", "dim", "hidden", "lower", "upper", "evidence", "interrupted"):
        assert getattr(found, name) == told[name]
    assert [trial.what for trial in found.trials] == [trial["what"] for trial in told["trials"]]
    found.save_witness(tmp_path / "ours-w")
    found.save_refutation(tmp_path / "ours-r")
    conftest.tamis("verify", pattern, tmp_path / "ours-w", "--weak")
    conftest.tamis("verify", pattern, tmp_path / "ours-r")
    assert (tmp_path / "ours-r").read_bytes() == written[1].read_bytes()
    assert tamis.verify(pattern, written[0], weak=True) and tamis.verify(pattern, written[1])
    assert tamis.load_refutation(written[1]).data == found.refutation.data


def hadamard(doublings):
    signs = np.ones((1, 1))
    for _ in range(doublings):
        signs = np.block([[signs, signs], [signs, -signs]])
    return (signs > 0) * 1.0


def random_half(rows, columns, seed):
    random = np.random.default_rng(seed)
    a = (random.random((rows, columns)) < 0.5) * 1.0
    a[np.arange(rows), random.integers(0, columns, rows)] = 1
    return a


GROUNDS = {
    "odd circle": (CROSS, ["--dim", 1]),
    "odd circle of three": ([[1, 1, 0, 0], [1, 0, 1, 0], [1, 0, 0, 1]], ["--dim", 1]),
    "sign conflict": ([[0, 0, 1], [0, 1, 0], [0, 1, 0]], ["--dim", 1, "--hidden", 1]),
    "full set": (PAIRS_OF_FIVE, ["--dim", 2]),
    "spectral": (hadamard(6), ["--dim", 6]),
    "order proof": (random_half(8, 8, 1), ["--dim", 2]),
}


@pytest.mark.parametrize("case", GROUNDS, ids=str)
def test_the_words_of_a_refutation_are_those_of_the_program(tmp_path, case):
    if case == "order proof" and not shutil.which("cadical"):
        pytest.skip("cadical is not installed: not run")
    a, args = GROUNDS[case]
    np.save(tmp_path / "a.npy", np.asarray(a, float))
    written = tmp_path / "r.json"
    told = json.loads(
        conftest.tamis(
            "decide", tmp_path / "a.npy", *args, "--refutation", written, "--json"
        ).stdout
    )
    assert told["verdict"] == "no" and told["evidence"]["lower"]["grounds"] in case
    refutation = tamis.load_refutation(written)
    assert refutation.words(a) == told["evidence"]["lower"]["words"]
    assert refutation.check(a) and refutes(np.asarray(a), refutation.data)


def test_a_solver_s_word_is_no_proof(tmp_path):
    runs = [{"program": "z3 4.8.12", "answer": "unsat", "seconds": 1.5}]
    claim = {"format": "tamis-refutation", "version": 1, "tamis": tamis.__version__, "dim": 2}
    claim |= {"hidden": None, "grounds": "solver", "problem": "(check-sat)\n", "runs": runs}
    (tmp_path / "r").write_text(json.dumps(claim))
    refutation = tamis.load_refutation(tmp_path / "r")
    assert not refutation.proved and refutation.problem == "(check-sat)\n"
    said = "The word of a solver, not a proof (z3 4.8.12: unsat in 1.50 s)."
    assert refutation.words(CROSS) == said
    check = tamis.verify(CROSS, refutation)
    assert not check and check.why


def test_an_open_question_has_bounds():
    random = np.random.default_rng(3)
    a = (random.random((40, 30)) < 0.3) * 1.0
    a[a.sum(axis=1) == 0, 0] = 1
    found = tamis.decide(a, time_limit=0.5, solvers=False)
    assert found.verdict == "open" and found.lower < found.upper and found.dim is None
    assert produces(a, found.witness) and tamis.verify(a, found.refutation)
    assert tamis.decide(a, time_limit=0.1, solvers=False, witness=False).witness is None


def test_progress_stops_with_the_bounds_so_far():
    random = np.random.default_rng(3)
    a = (random.random((40, 30)) < 0.3) * 1.0
    a[a.sum(axis=1) == 0, 0] = 1
    found = tamis.decide(a, progress=lambda done, total: False)
    assert found.interrupted and found.verdict == "open" and found.lower >= 1


def test_bad_options_are_refused():
    for options in (dict(dim=0), dict(time_limit=-1), dict(hidden=0), dict(dim="two")):
        with pytest.raises(tamis.Error) as error:
            tamis.decide(CROSS, **options)
        assert error.value.code == "usage"
    with pytest.raises(tamis.Error, match="square"):
        tamis.decide(np.ones((2, 3)), hidden=2)
    with pytest.raises(tamis.Error, match="no refutation"):
        tamis.decide(UPPER).save_refutation("nowhere")
