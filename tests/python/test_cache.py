"""Caches: what they hold after appends, forks, truncations, shedding, saving and loading."""

import numpy as np
import pytest
import tamis
from engine_cases import Exact, case, expect_proved, filled, numbers, same_bits
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import Bundle, RuleBasedStateMachine, consumes, invariant, rule

Q = numbers(1, (4, 2, 32), spread=2)


def proved(cache, k, v, sequence=0, budget="mass:0.1"):
    """Attention over a sequence that should hold k and v is within its certificates."""
    tokens = k.shape[1]
    seen = [tokens, tokens // 2]
    found = cache.attend(Q, budget, sequence=sequence, seen=seen)
    expect_proved(found, Exact(Q, k, v, seen))
    return found


def test_a_cache_says_what_it_is():
    cache = tamis.Cache(8, 2, 64, 32, scale=0.3, bits=16, dtype="f16", capacity=1 << 30, threads=1)
    assert cache.heads == (8, 2, 64, 32, float(np.float32(0.3)))
    assert cache.options == (16, "f16", 4, 1024, 1 << 30, 1)
    assert tamis.Cache(4, 2, 64).heads == tamis.Heads(4, 2, 64, 64, 0.125)
    assert "8 query heads on 2 KV heads" in repr(cache)
    with pytest.raises(AttributeError):
        cache.heads = None


def test_sequences_come_and_go():
    cache = tamis.Cache(4, 2, 32)
    assert len(cache) == 0 and 0 not in cache and cache.nbytes == 0
    cache.add(2**64 - 1)
    assert 2**64 - 1 in cache and len(cache) == 1 and cache.tokens(2**64 - 1) == 0
    cache.remove(2**64 - 1)
    assert len(cache) == 0
    with pytest.raises(tamis.Error, match="no sequence 0"):  # it had a sequence before
        cache.append(*numbers(1, (2, 2, 1, 32), "bf16"))


def test_the_first_append_adds_sequence_0_and_takes_it_back_if_it_fails():
    _, k, v = case(1, 30)
    cache = tamis.Cache(4, 2, 32, 24, dtype="f32")
    broken = k.copy()
    broken[1, 7, 3] = np.nan
    with pytest.raises(tamis.Error, match="token 7") as caught:
        cache.append(broken, v)
    assert caught.value.code == "input"
    assert len(cache) == 0
    cache.append(k, v)
    cache.append(k, v)
    assert cache.tokens() == 60
    with pytest.raises(tamis.Error, match="no sequence 1"):
        cache.append(k, v, sequence=1)


@pytest.mark.parametrize("layout", ["HTD", "THD"])
def test_many_sequences_are_appended_as_one_by_one(layout):
    lengths = [1, 1500, 0, 129]
    parts = [case(10 * n, n)[1:] for n in lengths]
    swap = (lambda x: x) if layout == "HTD" else (lambda x: x.swapaxes(-3, -2))
    together = tamis.Cache(4, 2, 32, 24, dtype="f32")
    apart = tamis.Cache(4, 2, 32, 24, dtype="f32")
    names = [5, 3, 9, 0]
    for cache in (together, apart):
        for name in names:
            cache.add(name)
    k, v = (np.concatenate(x, axis=1) for x in zip(*parts, strict=True))
    together.append(swap(k), swap(v), sequences=names, tokens=lengths, layout=layout)
    for name, (k, v) in zip(names, parts, strict=True):
        apart.append(swap(k), swap(v), name, layout=layout)
    k, v = numbers(2, (4, 2, 3, 32)), numbers(3, (4, 2, 3, 24))
    together.append(swap(k), swap(v), sequences=names, layout=layout)
    for i, name in enumerate(names):
        apart.append(swap(k[i]), swap(v[i]), name, layout=layout)
        assert together.tokens(name) == lengths[i] + 3
        same_bits(
            together.attend(Q, sequence=name, seen=[3, 2]),
            apart.attend(Q, sequence=name, seen=[3, 2]),
        )


def test_a_fork_goes_its_own_way():
    _, k, v = case(4, 3000)
    cache = filled(k, v)
    whole = cache.nbytes
    before = cache.attend(Q)
    cache.fork(1)
    cache.fork(7, tokens=2000)
    assert cache.tokens(1) == 3000 and cache.tokens(7) == 2000
    assert cache.nbytes < 1.2 * whole  # the tokens are shared, the raw ones of a block are not
    same_bits(cache.attend(Q, sequence=1), before)
    proved(cache, k[:, :2000], v[:, :2000], 7)
    more = case(5, 500)[1:]
    cache.append(*more, sequence=1)
    cache.fork(8, tokens=100, sequence=1)
    cache.remove(0)
    proved(cache, *(np.concatenate(x, axis=1) for x in zip((k, v), more, strict=True)), 1)
    proved(cache, k[:, :100], v[:, :100], 8)


def test_truncated_tokens_are_gone_and_the_others_keep_their_bits():
    _, k, v = case(6, 3000)
    cache = filled(k, v)
    before = cache.attend(Q, seen=[1500, 900])
    cache.truncate(2100)
    assert cache.tokens() == 2100
    same_bits(cache.attend(Q, seen=[1500, 900]).out, before.out)
    with pytest.raises(tamis.Error, match="sees 2101 tokens"):
        cache.attend(Q, seen=[2101, 3])
    proved(cache, k[:, :2100], v[:, :2100])
    cache.truncate(0)
    assert cache.tokens() == 0 and cache.nbytes - cache.free_nbytes < 4096


def test_shed_planes_make_the_cache_smaller_and_certificates_wider():
    _, k, v = case(7, 4000)
    cache = filled(k, v, bits=16)
    sizes = [cache.nbytes - cache.free_nbytes]
    tau = [proved(cache, k, v, budget="mass:0.0001").certificates["tau"].max()]
    for bits, tokens in ((12, 2000), (12, None), (8, None)):
        cache.shed(bits, tokens)
        sizes.append(cache.nbytes - cache.free_nbytes)
        tau.append(proved(cache, k, v, budget="mass:0.0001").certificates["tau"].max())
    assert sizes == sorted(sizes, reverse=True) and len(set(sizes)) == 4
    assert tau == sorted(tau) and tau[-1] > 4 * tau[0]


@pytest.mark.parametrize("tokens", [0, 100, 2345])
def test_a_saved_sequence_continues_in_another_cache(tmp_path, tokens):
    _, k, v = case(8, tokens)
    cache = filled(k, v)
    name = tmp_path / "säve\udcff.tamis"  # not UTF-8
    cache.save(name)
    other = tamis.Cache(4, 2, 32, 24, dtype="f32")
    other.load(name, sequence=3)
    more = case(9, 200)[1:]
    cache.append(*more)
    other.append(*more, sequence=3)
    same_bits(cache.attend(Q), other.attend(Q, sequence=3))
    with pytest.raises(tamis.Error, match="3") as caught:
        other.load(name, sequence=3)
    assert caught.value.code == "usage"


def test_damaged_and_missing_files_are_errors_of_input(tmp_path):
    _, k, v = case(8, 300)
    cache = filled(k, v)
    cache.save(tmp_path / "a")
    data = bytearray((tmp_path / "a").read_bytes())
    data[len(data) // 2] ^= 1
    (tmp_path / "b").write_bytes(data)
    for name in ("b", "missing"):
        with pytest.raises(tamis.Error, match=name) as caught:
            cache.load(tmp_path / name, sequence=1)
        assert caught.value.code == "input" and 1 not in cache


def test_a_full_cache_is_left_as_it_was():
    _, k, v = case(9, 2000)
    cache = filled(k, v, capacity=3 << 20)
    with pytest.raises(tamis.Error, match="capacity") as caught:
        while True:
            tokens, size, before = cache.tokens(), cache.nbytes, cache.attend(Q)
            cache.append(k, v)
    assert caught.value.code == "internal"
    assert (cache.tokens(), cache.nbytes) == (tokens, size) and tokens > 2000
    same_bits(cache.attend(Q), before)


class Sequences(RuleBasedStateMachine):
    """A cache beside plain arrays, through any calls."""

    names = Bundle("names")

    def __init__(self):
        super().__init__()
        self.cache = tamis.Cache(4, 2, 32, 24, dtype="f32", raw_below=200)
        self.plain = {}
        self.seed = 0

    def new(self, keys_and_values):
        name = self.seed = self.seed + 1
        self.plain[name] = keys_and_values
        return name

    @rule(target=names)
    def add(self):
        name = self.new((np.zeros((2, 0, 32), np.float32), np.zeros((2, 0, 24), np.float32)))
        self.cache.add(name)
        return name

    @rule(name=names, tokens=st.sampled_from([0, 1, 5, 127, 300]))
    def append(self, name, tokens):
        self.seed += 1
        more = case(self.seed, tokens)[1:]
        self.cache.append(*more, sequence=name)
        self.plain[name] = tuple(
            np.concatenate(x, axis=1) for x in zip(self.plain[name], more, strict=True)
        )

    @rule(name=names, share=st.floats(0, 1))
    def truncate(self, name, share):
        tokens = int(share * self.plain[name][0].shape[1])
        self.cache.truncate(tokens, name)
        self.plain[name] = tuple(x[:, :tokens] for x in self.plain[name])

    @rule(target=names, name=names, share=st.one_of(st.none(), st.floats(0, 1)))
    def fork(self, name, share):
        length = self.plain[name][0].shape[1]
        tokens = None if share is None else int(share * length)
        to = self.new(tuple(x[:, :tokens] for x in self.plain[name]))
        self.cache.fork(to, tokens, name)
        return to

    @rule(name=names)
    def shed(self, name):
        self.cache.shed(8, sequence=name)

    @rule(name=consumes(names))
    def remove(self, name):
        self.cache.remove(name)
        del self.plain[name]

    @rule(name=names, budget=st.sampled_from(["mass:0.1", "topk:9", "bytes:0.3", "window:20,4"]))
    def attend(self, name, budget):
        proved(self.cache, *self.plain[name], name, budget)

    @invariant()
    def lengths_agree(self):
        assert len(self.cache) == len(self.plain)
        for name, (k, _) in self.plain.items():
            assert self.cache.tokens(name) == k.shape[1]


TestSequences = Sequences.TestCase
TestSequences.settings = settings(max_examples=40, stateful_step_count=25, deadline=None)
