"""Every misuse is tamis.Error with one sentence that names the argument."""

import pickle

import numpy as np
import pytest
import tamis
from engine_cases import case, filled, same_bits

Q, K, V = case(1, 300, queries=2)


def cache(**options):
    return filled(K, V, **options)


def two(**options):
    """A cache with the sequences 0 and 1."""
    both = cache(**options)
    both.fork(1)
    return both


def read_only(array):
    array.flags.writeable = False
    return array


class OnDevice:
    """A tensor in a GPU's memory, as DLPack shows it."""

    def __dlpack_device__(self):
        return (2, 0)

    def __dlpack__(self, **options):
        raise BufferError("not reached")


ARRAYS = {
    "f64": (Q.astype(np.float64), "q holds f64; it must hold f32, f16 or bf16"),
    "whole numbers": (np.ones((4, 2, 32), int), "q holds int64"),
    "bool": (np.ones((4, 2, 32), bool), "q holds bool"),
    "complex": (Q.astype(complex), "q holds complex128"),
    "objects": (Q.astype(object), "q holds object"),
    "records": (np.zeros((4, 2, 32), [("a", "f4")]), "q holds"),
    "byte order": (Q.astype(">f4"), "q holds f32 in the byte order of another machine"),
    "a list": (Q.tolist(), "q is of type list; it must be an array"),
    "a number": (1.5, "q is of type float"),
    "nothing": (None, "q is of type NoneType"),
    "bytes": (b"1234", "q holds uint8"),
    "a GPU": (OnDevice(), "q is in the memory of another device"),
    "masks": (np.ma.masked_array(Q, Q > 0), "q is a masked array"),
    "few axes": (Q[0], r"q has the shape \[2, 32\]; its axes must be \[heads, tokens, channels\]"),
    "many axes": (Q[None], r"q has the shape \[1, 4, 2, 32\]"),
}


@pytest.mark.parametrize("name", ARRAYS)
def test_wrong_arrays_are_named(name):
    array, sentence = ARRAYS[name]
    with pytest.raises(tamis.Error, match=sentence) as caught:
        cache().attend(array)
    assert caught.value.code == "usage"
    if name not in ("few axes", "many axes"):
        for argument in ("keys", "values"):
            arrays = {"keys": K, "values": V} | {argument: array}
            with pytest.raises(tamis.Error, match=sentence.replace("q", argument, 1)):
                cache().append(**arrays)
            arrays = {"q": Q, "k": K, "v": V} | {argument[0]: array}
            with pytest.raises(tamis.Error, match=sentence.replace("q", argument[0], 1)):
                tamis.attend(**arrays)


CALLS = {
    "query_heads": (lambda: tamis.Cache(3, 2, 32), "query_heads is 3"),
    "query_heads text": (lambda: tamis.Cache("3", 2, 32), "query_heads is '3'"),
    "kv_heads": (lambda: tamis.Cache(4, 0, 32), "kv_heads is 0"),
    "key_dim": (lambda: tamis.Cache(4, 2, 2000), "key_dim is 2000|2000"),
    "value_dim": (lambda: tamis.Cache(4, 2, 32, 1.5), "value_dim is 1.5"),
    "scale": (lambda: tamis.Cache(4, 2, 32, scale=np.inf), "scale is inf"),
    "scale text": (lambda: tamis.Cache(4, 2, 32, scale="1"), "scale is '1'"),
    "bits": (lambda: tamis.Cache(4, 2, 32, bits=11), "bits is 11; it must be 8, 12 or 16"),
    "dtype": (lambda: tamis.Cache(4, 2, 32, dtype="f64"), "dtype is 'f64'"),
    "sinks": (lambda: tamis.Cache(4, 2, 32, sinks=-1), "sinks is -1"),
    "raw_below": (lambda: tamis.Cache(4, 2, 32, raw_below=True), "raw_below is True"),
    "capacity": (lambda: tamis.Cache(4, 2, 32, capacity=-1), "capacity is -1"),
    "threads": (lambda: tamis.Cache(4, 2, 32, threads=2**40), "threads is 1099511627776"),
    "a name": (lambda: cache().tokens(-1), "sequence is -1"),
    "a large name": (lambda: cache().add(2**64), "sequence is 18446744073709551616"),
    "no sequence": (lambda: cache().tokens(5), "no sequence 5"),
    "added twice": (lambda: cache().add(0), "sequence 0"),
    "removed twice": (lambda: cache().remove(9), "no sequence 9"),
    "truncate": (lambda: cache().truncate(301), "tokens is 301"),
    "fork tokens": (lambda: cache().fork(1, 301), "tokens is 301"),
    "fork to": (lambda: cache().fork(None), "to is None"),
    "fork to itself": (lambda: cache().fork(0), "sequence 0"),
    "shed": (lambda: cache().shed(4), "not to 4"),
    "a path": (lambda: cache().save(3), "path is 3"),
    "both": (lambda: two().append(K, V, 1, sequences=[0]), "sequence and sequences"),
    "tokens alone": (lambda: two().append(K, V, tokens=[300]), "tokens is given without sequences"),
    "names": (lambda: two().append(K, V, sequences=3), "sequences is 3"),
    "a name of many": (lambda: two().append(K[None], V[None], sequences=[0.5]), r"sequences\[0\]"),
    "counts": (lambda: two().append(K, V, sequences=[0, 1], tokens=[300]), "tokens has 1 numbers"),
    "sum": (lambda: two().append(K, V, sequences=[0, 1], tokens=[3, 4]), "keys has 300 tokens"),
    "named twice": (
        lambda: two().append(K, V, sequences=[0, 0], tokens=[150, 150]),
        "sequence 0 is named twice",
    ),
    "batch": (lambda: two().append(K[None], V[None], sequences=[0, 1]), "keys has 1 sequences"),
    "layout": (lambda: cache().append(K, V, layout="BHTD"), "layout is 'BHTD'"),
    "key heads": (lambda: cache().append(K[:1], V), "keys have 1 heads"),
    "value size": (lambda: cache().append(K, K), "values have 32 channels; there must be 24"),
    "value tokens": (lambda: cache().append(K, V[:, :9]), "values have 9 tokens"),
    "rounding": (lambda: cache(dtype="f16"), "the keys are f32 and the cache keeps f16"),
    "budget": (lambda: cache().attend(Q, "lots"), "lots"),
    "budget type": (lambda: cache().attend(Q, 0.05), "budget is 0.05"),
    "budgets": (lambda: cache().attend(Q, ["mass:0.1"] * 3), "3 budgets"),
    "budget in a list": (lambda: cache().attend(Q, ["mass:0.1", 3]), "budget is 3"),
    "heads of q": (lambda: cache().attend(Q[:3]), "q has 3 heads"),
    "size of q": (lambda: cache().attend(Q[..., :16]), "q has 4 heads of size 16"),
    "seen": (lambda: cache().attend(Q, seen=[1, 301]), "sees 301 tokens"),
    "seen floats": (lambda: cache().attend(Q, seen=[1.0, 2.0]), "seen holds float64"),
    "seen count": (lambda: cache().attend(Q, seen=[1, 2, 3]), "2 queries"),
    "seen ragged": (lambda: cache().attend(Q, seen=[[1], [2, 3]]), "seen"),
    "queries": (lambda: two().attend(Q, sequences=[0, 1], queries=[1, 2]), "q has 2 queries"),
    "prefer": (lambda: cache().attend(Q, prefer="speed"), "prefer is 'speed'"),
    "look": (lambda: cache().attend(Q, look=3), "look is 3"),
    "dense_below": (lambda: cache().attend(Q, dense_below=-1), "dense_below is -1"),
    "value_share": (lambda: cache().attend(Q, value_share=0), "value_share is 0"),
    "value_share nan": (lambda: cache().attend(Q, value_share=np.nan), "value_share is nan"),
    "out shape": (lambda: cache().attend(Q, out=np.empty_like(Q)), r"must be \[4, 2, 24\]"),
    "out axes": (lambda: cache().attend(Q, out=np.empty(4, np.float32)), "out has the shape"),
    "out type": (lambda: cache().attend(Q, out=np.empty((4, 2, 24))), "out holds f64"),
    "out read-only": (
        lambda: cache().attend(Q, out=read_only(np.empty((4, 2, 24), np.float32))),
        "out cannot be written",
    ),
    "out repeats": (
        lambda: cache().attend(
            Q, out=np.lib.stride_tricks.as_strided(np.empty(24, np.float32), (4, 2, 24), (0, 0, 4))
        ),
        "out cannot be written",
    ),
    "dense out type": (
        lambda: tamis.attend(Q, K, V, out=np.empty((4, 2, 24), np.float16)),
        "out holds f16",
    ),
    "dense out shape": (lambda: tamis.attend(Q, K, V, out=np.empty_like(Q)), "out has the shape"),
    "v type": (lambda: tamis.attend(Q, K, V.astype(np.float16)), "v holds f16"),
    "v tokens": (lambda: tamis.attend(Q, K, V[:, :9]), "v has 2 heads and 9 tokens"),
    "k size": (lambda: tamis.attend(Q, K[..., :8], V), "k has 8 channels"),
    "k sequences": (lambda: tamis.attend(*(x[None] for x in (Q,)), K[:0][None], V), "v has"),
    "heads": (lambda: tamis.attend(Q[:3], K, V), "3 query heads"),
    "causal": (lambda: tamis.attend(Q, K[:, :1], V[:, :1], causal=True), "causal"),
    "causal and seen": (lambda: tamis.attend(Q, K, V, causal=True, seen=[1, 2]), "causal and seen"),
    "seen of arrays": (lambda: tamis.attend(Q, K, V, seen=[1]), "seen has 1 numbers"),
    "seen too much": (lambda: tamis.attend(Q, K, V, seen=[1, 301]), "sees 301 keys"),
    "seen negative": (lambda: tamis.attend(Q, K, V, seen=[1, -1]), "sees -1 keys"),
    "scale of arrays": (lambda: tamis.attend(Q, K, V, scale="big"), "scale is 'big'"),
    "scale nan": (lambda: tamis.attend(Q, K, V, scale=np.nan), "scale is nan"),
    "threads of arrays": (lambda: tamis.attend(Q, K, V, threads=-1), "threads is -1"),
    "text of a budget": (lambda: tamis.parse_budget("mass:2"), "mass"),
    "type of a budget": (lambda: tamis.parse_budget(3), "budget is 3"),
}


@pytest.mark.parametrize("name", CALLS)
def test_wrong_calls_are_named(name):
    call, sentence = CALLS[name]
    with pytest.raises(tamis.Error, match=sentence) as caught:
        call()
    assert caught.value.code == "usage"
    assert "\n" not in str(caught.value) and len(str(caught.value)) < 300


def test_a_call_that_fails_changes_nothing():
    both = two()
    before = [both.attend(Q, sequence=name) for name in (0, 1)]
    broken = np.stack([K, K])
    broken[1, 0, 299, 31] = np.inf
    for keys, options in ((broken, {}), (np.stack([K, K]), {"layout": "THD"})):
        with pytest.raises(tamis.Error):
            both.append(keys, np.stack([V, V]), sequences=[0, 1], **options)
        for name in (0, 1):
            assert both.tokens(name) == 300
            same_bits(both.attend(Q, sequence=name), before[name])


def test_errors_can_be_pickled():
    error = pickle.loads(pickle.dumps(tamis.Error("a sentence", "io")))
    assert (str(error), error.code) == ("a sentence", "io")
    assert issubclass(tamis.Error, Exception) and tamis.Error.__module__ == "tamis"
