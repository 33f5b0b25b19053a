"""realise, verify and frontier: what is found produces the pattern, which NumPy checks with exact
logits, and what is broken is refused."""

import json
import math
from fractions import Fraction

import conftest
import numpy as np
import pytest
import tamis
from conftest import ROOT
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays
from refutations import exact

PATTERN = ROOT / "data" / "pattern-32.mtx"
WITNESS = ROOT / "data" / "witness-32.safetensors"


def forms(witness):
    """The exact queries and keys of every form that a witness holds: q and k, x·w_q and x·w_k."""
    if witness.q is not None:
        yield exact(witness.q), exact(witness.k)
    if witness.x is not None:
        x = exact(witness.x)
        yield x @ exact(witness.w_q), x @ exact(witness.w_k)


def longest(vectors):
    return max(math.sqrt(sum(x * x for x in vector)) for vector in vectors)


def exact_margin(a, logits, eps1=0.1, eps2=1.0, causal=False, weak=False):
    """The smallest slack of (23), (24) or the weak condition. Differences of logits are exact;
    only the logarithms are rounded."""
    slacks = []
    for i, (values, line) in enumerate(zip(a, logits, strict=True)):
        seen = slice(0, i + 1 if causal else len(line))
        values, line = values[seen], line[seen]
        ones, zeros = np.flatnonzero(values), np.flatnonzero(values == 0)
        if len(zeros):
            gap = max(line[zeros]) - min(line[ones])
            slacks.append(float((0 if weak else Fraction(math.log(eps1))) - gap))
        if not weak:
            off = [line[j] - Fraction(math.log(values[j])) for j in ones]
            slacks.append(eps2 - float(max(off) - min(off)) if len(ones) > 1 else math.inf)
    return min(slacks, default=math.inf)


def close(margin, true):
    """verify.h: within a billionth of the true margin, or a few units in the last place of the
    constants, of which log γ and log ε₁ are below 8 here."""
    return abs(margin - true) <= max(1e-9 * abs(true), 16 * 2**-50)


CASES = {
    "free": (lambda: tamis.permutations_pattern(24, 2, 2, seed=1), {}),
    "given dimension": (lambda: tamis.permutations_pattern(24, 1, 1, seed=2), dict(dim=4)),
    "tight": (lambda: tamis.permutations_pattern(16, 2, 3, seed=3), dict(eps1=0.01, eps2=0.1)),
    "causal": (lambda: tamis.causal_pattern(16, 2, 2, seed=4), dict(causal=True)),
    "weak": (lambda: tamis.pairs_pattern(6), dict(weak=True)),
    "moment": (lambda: tamis.banded_pattern(8, 1), dict(method="moment", weak=True)),
    "descent": (lambda: tamis.block_pattern(12, 3), dict(method="descent", steps=200)),
    "jl": (lambda: tamis.permutations_pattern(16, 1, 1, seed=5), dict(method="jl", hidden=32)),
}


@pytest.mark.parametrize("case", CASES, ids=str)
def test_what_realise_finds_produces_the_pattern(case):
    make, options = CASES[case]
    pattern = make()
    conditions = {
        name: options[name] for name in ("eps1", "eps2", "causal", "weak") if name in options
    }
    found = tamis.realise(pattern, **options)
    assert found and found.verified and "exact" in found.arithmetic
    a = pattern.to_array()
    assert found.q.shape == (a.shape[0], found.dim) and found.k.shape == (a.shape[1], found.dim)
    made = list(forms(found.witness))
    true = min(exact_margin(a, q @ k.T, **conditions) for q, k in made)
    assert true > 0 and close(found.margin, true)
    # Norms in f64 of f64 products: a few roundings of sums of at most 32 terms.
    norm_product = max(longest(q) * longest(k) for q, k in made)
    assert math.isclose(found.norm_product, norm_product, rel_tol=100 * 2**-53)
    checked = tamis.verify(pattern, found, **conditions)
    assert checked.holds and bool(checked) and checked.margin == found.margin
    assert (found.witness.x is not None) == ("hidden" in options)
    assert any(one.verified for one in found.attempts)


@given(
    arrays.arrays(
        np.float64,
        st.tuples(st.integers(1, 5), st.integers(1, 5)),
        elements=st.just(0.0) | st.floats(0.25, 4),
    ),
    st.sampled_from([{}, dict(weak=True), dict(eps1=0.3, eps2=0.2)]),
)
@settings(max_examples=40, deadline=None)
def test_any_small_pattern_is_realised_or_said_not_to_be(a, conditions):
    a[a.sum(axis=1) == 0, 0] = 1
    found = tamis.realise(a, steps=50, **conditions)
    if found:
        ((q, k),) = forms(found.witness)
        true = exact_margin(a, q @ k.T, **conditions)
        assert true > 0 and (found.margin == true or close(found.margin, true))
    else:
        assert all(attempt.why for attempt in found.attempts)


def test_realise_agrees_with_the_program(tmp_path):
    told = json.loads(
        conftest.tamis(
            "realise", PATTERN, "--dim", "4", "--steps", "200", "--out", tmp_path / "w", "--json"
        ).stdout
    )
    found = tamis.realise(PATTERN, 4, steps=200)
    for name in ("verified", "method", "dim", "norm_product", "max_logit", "margin", "arithmetic"):
        assert getattr(found, name) == told[name]
    assert found.witness.dtype == told["dtype"]
    for name in ("paper_norm", "norm_lower_bound", "bound_6", "bound_sharper"):
        assert getattr(found.theory, name) == told[name]
    found.save(tmp_path / "ours")
    assert (tmp_path / "ours").read_bytes() == (tmp_path / "w").read_bytes()
    conftest.tamis("verify", PATTERN, tmp_path / "ours")


def test_no_witness_is_an_answer():
    found = tamis.realise(np.eye(8), 1, method="descent", steps=20)
    assert not found and found.witness is None and found.margin is None and found.dim is None
    assert found.attempts and found.attempts[0].why
    with pytest.raises(tamis.Error, match="no witness was found"):
        found.save("nowhere")


def test_the_shipped_witness_is_verified_as_the_program_does():
    told = json.loads(conftest.tamis("verify", PATTERN, WITNESS, "--json").stdout)
    checked = tamis.verify(PATTERN, WITNESS)
    for name in ("holds", "arithmetic", "margin", "worst_row", "failing_rows", "dim"):
        assert getattr(checked, name) == told[name]
    for name in ("norm_product", "max_logit"):
        assert getattr(checked, name) == told[name]
    for name, verdict in told["in"].items():
        assert {key: getattr(checked.by[name], key) for key in verdict} == verdict
    a = tamis.load_pattern(PATTERN).to_array()
    ((q, k),) = forms(tamis.load_witness(WITNESS))
    assert close(checked.margin, exact_margin(a, q @ k.T))


def test_a_broken_witness_is_refused_with_its_row():
    witness = tamis.load_witness(WITNESS)
    q = witness.q.copy()
    q[5] = -q[5]
    broken = tamis.verify(PATTERN, (q, witness.k))
    assert not broken and broken.failing_rows == 1 and broken.worst_row == 5
    a = tamis.load_pattern(PATTERN).to_array()
    assert close(broken.margin, exact_margin(a, exact(q) @ exact(witness.k).T))


def test_claims_are_not_believed():
    eye = np.eye(4, dtype=np.float32)
    lax = tamis.Witness(1e-9 * eye, eye, made_for=tamis.Conditions(weak=True))
    assert not tamis.verify(np.eye(4), lax)
    assert tamis.verify(np.eye(4), lax, weak=True)
    assert tamis.verify(np.eye(4), lax, as_claimed=True).conditions.weak
    assert tamis.verify(np.eye(4), lax, eps1=0.5).claimed.weak


def test_witnesses_come_back_from_files(tmp_path):
    random = np.random.default_rng(4)
    for dtype in (np.float32, np.float64):
        made = tamis.Witness(
            random.standard_normal((3, 2)).astype(dtype),
            random.standard_normal((5, 2)).astype(dtype),
            made_for=tamis.Conditions(0.25, 0.5),
            made_by={"method": "by hand"},
        )
        made.save(tmp_path / "w")
        back = tamis.load_witness(tmp_path / "w")
        assert back.q.dtype == dtype
        assert np.array_equal(back.q, made.q) and np.array_equal(back.k, made.k)
        assert back.made_for == tamis.Conditions(0.25, 0.5)
        assert back.made_by["method"] == "by hand"


BAD = {
    "sizes": (lambda: tamis.verify(np.eye(3), (np.eye(4), np.eye(4))), "3"),
    "type": (lambda: tamis.verify(np.eye(2), (np.eye(2, dtype=int), np.eye(2))), "q holds int64"),
    "NaN": (lambda: tamis.verify(np.eye(2), (np.eye(2) * math.nan, np.eye(2))), "finite"),
    "one axis": (lambda: tamis.Witness(np.ones(3), np.ones(3)), "1 axes"),
    "half a form": (lambda: tamis.Witness(np.eye(3)), "the witness has q; give q and k"),
    "nothing": (lambda: tamis.Witness(), "nothing"),
    "three": (lambda: tamis.verify(np.eye(2), (np.eye(2),) * 3), "of type tuple"),
    "no witness": (lambda: tamis.verify(np.eye(2), None), "NoneType"),
    "weak and eps": (lambda: tamis.realise(np.eye(3), weak=True, eps1=0.1), "weak"),
    "eps1": (lambda: tamis.realise(np.eye(3), eps1=1.5), "1.5"),
    "method": (lambda: tamis.realise(np.eye(3), method="magic"), "magic"),
    "dim": (lambda: tamis.realise(np.eye(3), 2.5), "dim is 2.5"),
    "dim 0": (lambda: tamis.realise(np.eye(3), 0), "0"),
    "path": (lambda: tamis.realise("/nowhere.mtx"), "/nowhere.mtx"),
    "dims": (lambda: tamis.frontier(np.eye(3), [4, 2]), "ascend"),
}


@pytest.mark.parametrize("case", BAD, ids=str)
def test_bad_calls_are_refused(case):
    call, sentence = BAD[case]
    with pytest.raises(tamis.Error) as error:
        call()
    assert sentence in str(error.value)
    assert error.value.code in ("usage", "input")


def test_the_frontier_is_that_of_the_program():
    args = ("frontier", PATTERN, "--dims", "2,4,8", "--steps", "100", "--json")
    told = json.loads(conftest.tamis(*args).stdout)
    found = tamis.frontier(PATTERN, [2, 4, 8], steps=100)
    for ours, theirs in zip(found.points, told["points"], strict=True):
        assert (ours.dim, ours.verified, ours.why) == (
            theirs["dim"],
            theirs["verified"],
            theirs["why"],
        )
        if ours.verified:
            assert ours.norm_product == theirs["norm_product"] and ours.method == theirs["method"]
    assert found.theory.paper_norm == told["paper_norm"]
    assert found.theory.norm_lower_bound == told["lower_bound"]
