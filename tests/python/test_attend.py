"""Attention against f64: every budget, mask, batch and option is within what certificates prove."""

import numpy as np
import pytest
import tamis
from engine_cases import Exact, case, expect_proved, filled, numbers, same_bits
from hypothesis import given, settings
from hypothesis import strategies as st

BUDGETS = ["mass:0.05", "mass:0.3", "bytes:0.4", "topk:30", "power:2,0.5", "window:100,4"]


@pytest.mark.parametrize("budget", [None, *BUDGETS])
@pytest.mark.parametrize(
    ("tokens", "queries"), [(1, 1), (700, 3), (3000, 1), (2000, 5), (1300, 80)]
)
def test_attention_over_arrays_is_within_its_certificates(budget, tokens, queries):
    q, k, v = case(tokens, tokens, queries)
    found = tamis.attend(q, k, v, budget, certificates=True)
    expect_proved(found, Exact(q, k, v))
    if queries <= tokens:
        causal = tamis.attend(q, k, v, budget, causal=True, certificates=True)
        expect_proved(causal, Exact(q, k, v, seen=np.arange(tokens - queries, tokens) + 1))


@settings(max_examples=60, deadline=None)
@given(data=st.data())
def test_any_sizes_and_masks_are_within_their_certificates(data):
    tokens = data.draw(st.integers(1, 700))
    queries = data.draw(st.integers(0, 12))
    sizes = {
        "kv_heads": data.draw(st.integers(1, 3)),
        "group": data.draw(st.integers(1, 4)),
        "dim": data.draw(st.integers(1, 70)),
        "value_dim": data.draw(st.integers(1, 70)),
    }
    dtype = data.draw(st.sampled_from(["f32", "f16", "bf16"]))
    q, k, v = case(data.draw(st.integers(0, 99)), tokens, queries, dtype=dtype, **sizes)
    seen = data.draw(st.lists(st.integers(0, tokens), min_size=queries, max_size=queries))
    scale = data.draw(st.sampled_from([None, 0.1, -0.7]))
    exact = Exact(q, k, v, seen, scale)
    for budget in (None, data.draw(st.sampled_from(BUDGETS))):
        bits = data.draw(st.sampled_from([8, 12, 16]))
        options = {"seen": seen, "scale": scale, "bits": bits, "certificates": True}
        expect_proved(tamis.attend(q, k, v, budget, **options), exact)


def test_dense_weights_are_within_tau_of_the_exact_ones():
    """With one-hot values the output is the weights. Every component of it then has one term, and
    meets the roundings of docs/rounding.md: h in the sum of weights and in itself, and a division."""
    tokens = 1000
    q, k, _ = case(5, tokens, queries=4)
    v = np.broadcast_to(np.eye(tokens, dtype=np.float32), (2, tokens, tokens))
    found = tamis.attend(q, k, v, certificates=True)
    exact = Exact(q, k, v)
    distance = np.abs(found.out - exact.weights).sum(axis=-1) / 2
    h = 128 + 2 * (-(-tokens // 128) + 2) + 2
    gamma = h * 2.0**-24 / (1 - h * 2.0**-24)
    summing = (1 + gamma) * (1 + 2.0**-24) / (1 - gamma) - 1
    assert (distance <= found.certificates["tau"] + summing / 2).all()
    assert (distance > 0).any()


def test_a_mass_budget_is_met_or_says_why_not():
    q, k, v = case(6, 4000, queries=2)
    found = filled(k, v).attend(q, "mass:0.05")
    proofs = found.certificates
    assert (proofs["reached"] == 0).all() and (proofs["tau"] <= 0.05).all()
    assert set(found.reached_words.flat) == {"the budget was met"}
    assert set(found.dense_words.flat) == {"read sparsely"}
    assert (proofs["bytes"] < proofs["dense_bytes"]).all()
    # Both queries share a pass, and count what they read together.
    assert (proofs["dense_bytes"] == 4000 * (32 + 24) * 2).all()
    for what in ("keys", "values"):
        others = proofs["centre_values"] if what == "values" else 0
        assert (proofs[f"raw_{what}"] + proofs[what].sum(axis=-1) + others == 4000).all()
    tight = filled(k, v, bits=8).attend(q, "mass:1e-6")
    assert (tight.certificates["reached"] == 1).all()
    assert "all stored bits were read" in tight.reached_words[0, 0]
    assert (tight.certificates["tau"] > 1e-6).all()


def test_a_query_that_is_not_finite_has_infinite_bounds():
    q, k, v = case(7, 2000)
    q[1, 0, 5] = np.inf
    found = filled(k, v).attend(q)
    assert np.isnan(found.out[1]).all() and found.certificates["reached"][1, 0] == 3
    assert np.isinf(found.certificates["error"][1, 0])
    with pytest.raises(tamis.Error, match="row") as caught:
        tamis.attend(q, k, v)
    assert caught.value.code == "input"


def test_each_head_may_have_a_budget_of_its_own():
    q, k, v = case(8, 3000)
    cache = filled(k, v)
    found = cache.attend(q, ["mass:0.2", "mass:0.01", "topk:10", "topk:500"])
    expect_proved(found, Exact(q, k, v))
    tau = found.certificates["tau"][:, 0]
    assert tau[0] <= 0.2 and tau[2] > tau[3]
    same_bits(cache.attend(q, ["topk:9"] * 4), cache.attend(q, "topk:9"))


@pytest.mark.parametrize("layout", ["HTD", "THD"])
def test_rows_of_a_batch_equal_their_single_runs_bit_for_bit(layout):
    lengths, queries = [2000, 1, 1100, 129, 0], [1, 1, 3, 40, 0]
    names = [4, 1, 7, 0, 2]
    swap = (lambda x: x) if layout == "HTD" else (lambda x: x.swapaxes(-3, -2))
    cache = tamis.Cache(4, 2, 32, 24, dtype="f32")
    single = tamis.Cache(4, 2, 32, 24, dtype="f32")
    parts = []
    for name, tokens, count in zip(names, lengths, queries, strict=True):
        q, k, v = case(tokens, tokens, count)
        parts.append(q)
        for each in (cache, single):
            each.add(name)
            each.append(k, v, sequence=name)
    together = cache.attend(
        swap(np.concatenate(parts, axis=1)), sequences=names, queries=queries, layout=layout
    )
    first = 0
    for name, q in zip(names, parts, strict=True):
        alone = single.attend(q, sequence=name)
        rows = slice(first, first := first + q.shape[1])
        same_bits(swap(together.out)[:, rows], alone.out)
        at = (slice(None), rows) if layout == "HTD" else (rows, slice(None))
        turned = together.lse[at] if layout == "HTD" else together.lse[at].T
        same_bits(turned, alone.lse)
        proofs = together.certificates[at]
        same_bits(proofs if layout == "HTD" else proofs.T, alone.certificates)


@pytest.mark.parametrize("queries", [1, 4])
@pytest.mark.parametrize("layout", ["HTD", "THD"])
def test_an_axis_of_sequences_does_what_single_calls_do(queries, layout):
    swap = (lambda x: x) if layout == "HTD" else (lambda x: x.swapaxes(-3, -2))
    names = [3, 0, 8]
    cache = tamis.Cache(4, 2, 32, 24, dtype="f32")
    for name in names:
        cache.add(name)
        cache.append(*case(name, 1200 + name)[1:], sequence=name)
    q = numbers(1, (3, 4, queries, 32))
    seen = np.arange(3 * queries).reshape(3, queries) * 90
    whole = cache.attend(swap(q), sequences=names, seen=seen, layout=layout)
    for i, name in enumerate(names):
        alone = cache.attend(swap(q[i]), sequence=name, seen=seen[i], layout=layout)
        same_bits(whole.out[i], alone.out)
        same_bits(whole.lse[i], alone.lse)
        same_bits(whole.certificates["error"][i], alone.certificates["error"])


@pytest.mark.parametrize("budget", [None, "mass:0.1"])
def test_a_batch_of_arrays_equals_its_single_runs(budget):
    q, k, v = (np.stack(x) for x in zip(*(case(i, 1500, 3) for i in range(3)), strict=True))
    whole = tamis.attend(q, k, v, budget, causal=True, certificates=True)
    for i in range(3):
        alone = tamis.attend(q[i], k[i], v[i], budget, causal=True, certificates=True)
        same_bits(whole.out[i], alone.out)
        same_bits(whole.lse[i], alone.lse)


def test_options_change_what_is_read():
    q, k, v = case(9, 3000)
    cache = filled(k, v)
    read = {
        name: cache.attend(q, **options).certificates
        for name, options in {
            "bytes": {},
            "time": {"prefer": "time"},
            "look": {"look": 2},
            "dense": {"dense_below": 10**6},
            "share": {"value_share": 0.05},
        }.items()
    }
    assert (read["bytes"]["keys"][..., 0] > 0).all()
    for two in ("time", "look"):
        assert (read[two]["keys"][..., 0] == 0).all()
    assert (read["dense"]["dense"] == 1).all() and (read["bytes"]["dense"] == 0).all()
    more = [read[name]["values"].sum(axis=-1).sum() for name in ("share", "bytes")]
    assert more[0] > more[1]


@pytest.mark.parametrize("threads", [1, 2, 5])
def test_the_number_of_threads_does_not_change_a_bit(threads):
    q, k, v = case(10, 3000, queries=40)
    same_bits(filled(k, v, threads=threads).attend(q), filled(k, v).attend(q))
    same_bits(tamis.attend(q, k, v, threads=threads), tamis.attend(q, k, v))


def test_results_unpack_and_tell_what_they_are():
    q, k, v = case(11, 2000)
    cache = filled(k, v)
    found = cache.attend(q)
    out, certificates = found
    assert out is found.out and certificates is found.certificates
    assert certificates.dtype == tamis.attention.CERTIFICATE
    summary = found.summary()
    assert summary["tau"][0] == np.median(certificates["tau"])
    assert 0 < summary["bytes"][0] <= summary["bytes"][1] < 1
    assert "out [4, 1, 24]" in repr(found) and "median tau" in repr(found)
    assert "<table>" in found._repr_html_()
    bare = cache.attend(q, certificates=False)
    same_bits(bare.out, found.out)
    assert bare.certificates is None and bare.summary() == {} and repr(bare)
    with pytest.raises(AttributeError, match="reached"):
        _ = bare.reached_words
    dense = tamis.attend(q, k, v)
    assert dense.certificates is None
    with pytest.raises(AttributeError, match="dense"):
        _ = tamis.attend(q, k, v, certificates=True).dense_words
