"""Arrays in and out: every layout, stride, type and package gives the same bits, without copies."""

import array
import tracemalloc

import numpy as np
import pytest
import tamis
from conftest import DTYPES
from engine_cases import BF16, Exact, case, expect_proved, filled, numbers, same_bits
from hypothesis import given, settings
from hypothesis import strategies as st

TOKENS = 1500  # enough to be coded


@st.composite
def views(draw, given):
    """`given` again, with the same numbers in other places of memory."""
    order = draw(st.permutations(range(given.ndim)))
    steps = [draw(st.sampled_from([1, 2, -1, -3])) for _ in order]
    base = np.zeros([size * abs(step) + 1 for size, step in zip(given.shape, steps, strict=True)])
    base = np.ascontiguousarray(base.transpose(order)).astype(given.dtype)
    base = base.transpose(np.argsort(order))
    view = base[tuple(slice(1, None, abs(step)) for step in steps)]
    view = view[tuple(slice(None, None, -1 if step < 0 else 1) for step in steps)]
    view[...] = given
    return view


@settings(max_examples=60, deadline=None)
@given(data=st.data(), dtype=st.sampled_from(["f32", "f16", "bf16"]))
def test_strides_do_not_change_a_bit(data, dtype):
    q, k, v = case(1, TOKENS, queries=3, dtype=dtype)
    q = q.astype(DTYPES[dtype])
    expected = filled(k, v).attend(q)
    cache = filled(data.draw(views(k)), data.draw(views(v)))
    same_bits(cache.attend(data.draw(views(q))), expected)
    if dtype == "f32":
        out = data.draw(views(np.zeros_like(expected.out)))
        found = cache.attend(q, out=out)
        assert found.out is out
        same_bits(out, expected.out)


@settings(max_examples=40, deadline=None)
@given(data=st.data(), batch=st.booleans(), dense=st.booleans())
def test_strides_do_not_change_a_bit_of_attention_over_arrays(data, batch, dense):
    q, k, v = case(2, 200, queries=3)
    if batch:
        q, k, v = (np.stack([x, -x, 2 * x]) for x in (q, k, v))
    budget = None if dense else "topk:20"
    expected = tamis.attend(q, k, v, budget, causal=True, certificates=True)
    found = tamis.attend(
        *(data.draw(views(x)) for x in (q, k, v)),
        budget,
        causal=True,
        certificates=True,
        out=data.draw(views(np.zeros_like(expected.out))),
    )
    same_bits(found, expected)


@pytest.mark.parametrize("batch", [False, True])
@pytest.mark.parametrize("budget", [None, "mass:0.1"])
def test_tokens_may_stand_before_heads(batch, budget):
    q, k, v = case(3, TOKENS, queries=2)
    if batch:
        q, k, v = (np.stack([x, 2 * x]) for x in (q, k, v))
    first = tamis.attend(q, k, v, budget, certificates=True)
    swapped = [x.swapaxes(-3, -2) for x in (q, k, v)]
    second = tamis.attend(*swapped, budget, certificates=True, layout="THD")
    same_bits(second.out.swapaxes(-3, -2), first.out)
    same_bits(second.lse.swapaxes(-2, -1), first.lse)
    same_bits(second.certificates["tau"].swapaxes(-2, -1), first.certificates["tau"])


@pytest.mark.parametrize("name", ["k", "v"])
def test_sequences_that_share_memory_are_not_taken_for_ones_that_follow_each_other(name):
    q, k, v = (np.stack([x, -x]) for x in case(4, 50))
    given = {"k": k, "v": v}
    given[name] = np.broadcast_to(given[name][:1], given[name].shape)
    copies = {key: np.ascontiguousarray(x) for key, x in given.items()}
    for budget in (None, "mass:0.1"):
        same_bits(tamis.attend(q, **given, budget=budget), tamis.attend(q, **copies, budget=budget))


@pytest.mark.parametrize("dtype", ["f32", "f16", "bf16"])
def test_types_of_keys_values_and_queries_are_read_exactly(dtype):
    q, k, v = case(5, TOKENS, queries=2, dtype=dtype)
    q = q.astype(DTYPES[dtype])
    for cache_dtype in {dtype, "f32"}:
        found = filled(k, v, dtype=cache_dtype).attend(q, "mass:0.05")
        expect_proved(found, Exact(q, k, v, seen=[TOKENS - 1, TOKENS]))
    expect_proved(tamis.attend(q, k, v, certificates=True), Exact(q, k, v))


def test_keys_and_values_may_be_of_two_types():
    q, k, v = case(6, TOKENS)
    k, v = k.astype(np.float16), v.astype(BF16)
    expect_proved(tamis.attend(q, k, v, "mass:0.1"), Exact(q, k, v))


@pytest.mark.parametrize("dtype", ["f32", "f16", "bf16"])
def test_outputs_may_be_rounded_to_the_callers_type(dtype):
    q, k, v = case(7, TOKENS, queries=2)
    out = np.empty((4, 2, 24), DTYPES[dtype])
    found = filled(k, v).attend(q, "mass:0.1", out=out)
    assert found.out is out
    expect_proved(found, Exact(q, k, v, seen=[TOKENS - 1, TOKENS]))


@pytest.mark.parametrize("budget", [None, "mass:0.1"])
@pytest.mark.parametrize("shift", [0, 1, 2])
def test_outputs_may_lie_on_the_queries(budget, shift):
    _, k, v = case(8, TOKENS, value_dim=32)
    memory = numbers(9, (4 + shift, 3, 32))
    q, out = memory[:4], memory[shift:]
    expected = tamis.attend(q.copy(), k, v, budget).out
    same_bits(tamis.attend(q, k, v, budget, out=out).out, expected)
    same_bits(memory[shift:], expected)


@pytest.mark.parametrize("budget", [None, "mass:0.1"])
@pytest.mark.parametrize("name", ["k", "v"])
def test_outputs_may_lie_on_keys_and_values(budget, name):
    memory = numbers(10, (3, 300, 32))
    given = {"q": numbers(11, (2, 300, 32)), "k": numbers(12, (2, 300, 32)), "v": memory[:2]}
    given["k"], given["v"] = (given["v"], given["k"]) if name == "k" else (given["k"], given["v"])
    expected = tamis.attend(*(x.copy() for x in given.values()), budget).out
    same_bits(tamis.attend(**given, budget=budget, out=memory[1:]).out, expected)


class Lent:
    """An array of another package: nothing but DLPack."""

    def __init__(self, data):
        self.data = data

    def __dlpack__(self, **options):
        return self.data.__dlpack__(**options)

    def __dlpack_device__(self):
        return self.data.__dlpack_device__()


def test_other_packages_lend_arrays_by_dlpack_or_the_buffer_protocol():
    q, k, v = case(9, 40)
    expected = tamis.attend(q, k, v)
    same_bits(tamis.attend(Lent(q), Lent(k), Lent(v)), expected)
    same_bits(tamis.attend(*(memoryview(x) for x in (q, k, v))), expected)
    flat = array.array("f", k.reshape(-1).tolist())
    same_bits(tamis.attend(q, memoryview(flat).cast("b").cast("f", k.shape), v), expected)


def test_read_only_arrays_are_read():
    q, k, v = case(10, 40)
    expected = tamis.attend(q, k, v, "mass:0.1")
    for x in (q, k, v):
        x.flags.writeable = False
    same_bits(tamis.attend(q, k, v, "mass:0.1"), expected)


@pytest.mark.parametrize("dtype", ["f32", "f16", "bf16"])
def test_elements_that_are_not_aligned_are_read(dtype):
    q, k, v = case(11, 40, dtype=dtype)
    expected = tamis.attend(q, k, v)
    shifted = []
    for x in (q, k, v):
        memory = np.zeros(x.nbytes + 1, np.uint8)
        memory[1:] = np.frombuffer(x.tobytes(), np.uint8)
        shifted.append(memory[1:].view(x.dtype).reshape(x.shape))
        assert not shifted[-1].flags.aligned
    same_bits(tamis.attend(*shifted), expected)


def test_keys_and_values_are_read_where_they_lie():
    base = numbers(12, (TOKENS, 2, 2 * 512 + 5), "bf16")
    k, v = base[:, :, 2:1026:2].swapaxes(0, 1), base[::-1, ::-1, 512:1024].swapaxes(0, 1)
    cache = tamis.Cache(2, 2, 512)
    tracemalloc.start()
    cache.append(k, v)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    # NumPy's memory is traced. Descriptions of arrays and lists are all that a call makes.
    assert k.nbytes + v.nbytes > 5 << 20 and peak < 1 << 16


def test_a_batch_may_be_empty():
    cache = tamis.Cache(4, 2, 32)
    nothing = numbers(1, (0, 2, 3, 32), "bf16")
    cache.append(nothing, nothing, sequences=[])
    assert len(cache) == 0
    found = cache.attend(numbers(1, (0, 4, 3, 32)), sequences=[])
    assert found.out.shape == (0, 4, 3, 32) and found.lse.shape == (0, 4, 3)
    ragged = cache.attend(numbers(1, (4, 0, 32)), sequences=[], queries=[])
    assert ragged.out.shape == (4, 0, 32)
    assert tamis.attend(*numbers(2, (3, 0, 2, 3, 32))).out.shape == (0, 2, 3, 32)


@pytest.mark.parametrize("shape", [(4, 0, 32), (4, 2, 32)])
@pytest.mark.parametrize("tokens", [0, 5])
@pytest.mark.parametrize("budget", [None, "mass:0.1"])
def test_empty_arrays_have_empty_results(shape, tokens, budget):
    q = numbers(13, shape)
    k, v = numbers(14, (2, tokens, 32)), numbers(15, (2, tokens, 24))
    found = tamis.attend(q, k, v, budget, certificates=True)
    assert found.out.shape == (*shape[:2], 24) and found.lse.shape == shape[:2]
    expect_proved(found, Exact(q, k, v))
    assert repr(found) and found._repr_html_()
