"""Traces: what is saved is read back, in every type and with every option; bad ones are refused by
the library's sentence, and leave nothing behind."""

import gc
import json
import os
import stat
import sys

import conftest
import ml_dtypes
import numpy as np
import pytest
import tamis
from hypothesis import given, settings
from hypothesis import strategies as st
from safetensors.numpy import load_file

DTYPES = {"f16": np.float16, "bf16": ml_dtypes.bfloat16, "f32": np.float32}
WEIGHTS = {**DTYPES, "f64": np.float64}


def random_layer(seed=1, q="f16", kv="f16", heads=4, kv_heads=2, queries=3, tokens=20, d=8, d_v=6):
    random = np.random.default_rng(seed)
    return {
        "q": random.standard_normal((heads, queries, d)).astype(DTYPES[q]),
        "k": random.standard_normal((kv_heads, tokens, d)).astype(DTYPES[kv]),
        "v": random.standard_normal((kv_heads, tokens, d_v)).astype(DTYPES[kv]),
    }


POSITIONS = [19, 0, 7]


def same(a, b):
    return a.dtype == b.dtype and a.shape == b.shape and a.tobytes() == b.tobytes()


@given(
    q=st.sampled_from(sorted(DTYPES)),
    kv=st.sampled_from(sorted(DTYPES)),
    weights=st.none() | st.sampled_from(sorted(WEIGHTS)),
    norms=st.booleans(),
    bound=st.none() | st.floats(1e-3, 1e6),
    causal=st.booleans(),
    scale=st.none() | st.floats(2**-10, 8, width=32),
    rotary=st.none() | st.builds(tamis.Rotary, st.floats(1, 1e6), st.just(4), st.booleans()),
    numbers=st.lists(st.integers(0, 10**6), min_size=1, max_size=3, unique=True),
    seed=st.integers(0, 2**32),
)
@settings(max_examples=60, deadline=None)
def test_every_type_and_option_comes_back(
    tmp_path_factory, q, kv, weights, norms, bound, causal, scale, rotary, numbers, seed
):
    random = np.random.default_rng(seed)
    layers = {}
    for number in numbers:
        layer = random_layer(seed + number, q, kv)
        if weights:
            layer["w_q"] = random.standard_normal((4, 5, 8)).astype(WEIGHTS[weights])
            layer["w_k"] = random.standard_normal((2, 5, 8)).astype(WEIGHTS[weights])
        if norms:
            layer["w_norm"] = random.random(4)
        if bound is not None:
            layer["input_bound"] = bound
        layers[number] = layer
    path = tmp_path_factory.mktemp("traces") / "trace.safetensors"
    notes = {"model": "none", "text": "zufällig"}
    tamis.save_trace(
        path, layers, POSITIONS, causal=causal, scale=scale, rotary=rotary, metadata=notes
    )
    trace = tamis.load_trace(path)
    assert trace.layers == tuple(sorted(numbers))
    assert trace.tokens == 20 and trace.causal == causal and trace.rotary == rotary
    assert trace.notes == notes and trace.metadata["format"] == "tamis-trace"
    assert trace.positions.tolist() == POSITIONS
    assert trace.seen.tolist() == ([20, 1, 8] if causal else [20, 20, 20])
    for number, layer in layers.items():
        found = trace.layer(number)
        assert found.scale == np.float32(8**-0.5 if scale is None else scale)
        assert (found.query_heads, found.kv_heads, found.head_dim, found.value_dim) == (4, 2, 8, 6)
        assert all(same(getattr(found, name), layer[name]) for name in "qkv")
        assert found.input_bound == bound
        for name in ("w_q", "w_k", "w_norm"):
            if name in layer:
                assert same(getattr(found, name), layer[name])
            else:
                assert getattr(found, name) is None


def test_arrays_are_stored_as_they_are_given_whatever_their_strides(tmp_path):
    layer = random_layer(q="f32", kv="f32")
    odd = {
        "q": np.asfortranarray(layer["q"]),
        "k": layer["k"][:, ::-1][:, ::-1],
        "v": np.repeat(layer["v"], 2, axis=-1)[..., ::2],
    }
    tamis.save_trace(tmp_path / "odd", {5: odd}, POSITIONS)
    stored = load_file(tmp_path / "odd")
    assert all(np.array_equal(stored[f"layers.5.{name}"], layer[name]) for name in "qkv")


def test_the_program_reads_what_was_saved(tmp_path):
    path = tmp_path / "trace.safetensors"
    tamis.save_trace(path, {2: random_layer(), 9: random_layer(2, "bf16", "bf16")}, POSITIONS)
    told = json.loads(conftest.tamis("info", path, "--json").stdout)
    assert [layer["layer"] for layer in told["layers"]] == [2, 9]


def test_what_others_saved_is_read(trace):
    opened = tamis.load_trace(trace)
    stored = load_file(trace)
    assert opened.layers == (3, 7)
    for number in opened.layers:
        for name in "qkv":
            assert same(getattr(opened.layer(number), name), stored[f"layers.{number}.{name}"])


def changed(**changes):
    return {1: {**random_layer(), **changes}}


BAD = {
    "f64 queries": (changed(q=np.zeros((4, 3, 8))), "'layers.1.q' has dtype f64"),
    "heads": (changed(q=np.zeros((3, 3, 8), np.float16)), "must be a multiple of KV heads"),
    "types differ": (changed(v=np.zeros((2, 20, 6), np.float32)), "must have the same"),
    "NaN": (changed(k=np.full((2, 20, 8), np.nan, np.float16)), "every element must be finite"),
    "no values": ({1: {"q": random_layer()["q"], "k": random_layer()["k"]}}, "layers.1.v"),
    "w_q alone": (changed(w_q=np.zeros((4, 5, 8))), "layers.1.w_k"),
    "bound": (changed(input_bound=0), "must be above 0"),
    "norms": (changed(w_norm=[1.0, 2, 3, -1]), "must be 0 or more"),
    "number": ({-1: random_layer()}, "no part of a trace"),
    "nothing": ({}, "the trace has no layers"),
    "unknown name": (changed(queries=1), "'queries'"),
    "scales": ({1: {**random_layer(), "scale": 1}, 2: {**random_layer(), "scale": 2}}, "1.0, 2.0"),
    "object": (changed(q=object()), "layers.1.q is of type object"),
}


@pytest.mark.parametrize("case", BAD, ids=str)
def test_bad_traces_are_refused_and_leave_what_was_there(tmp_path, case):
    layers, sentence = BAD[case]
    path = tmp_path / "trace.safetensors"
    path.write_text("before")
    with pytest.raises(tamis.Error, match=".*") as error:
        tamis.save_trace(path, layers, POSITIONS)
    assert sentence in str(error.value)
    assert error.value.code in ("usage", "input")
    assert path.read_text() == "before" and os.listdir(tmp_path) == [path.name]


OPTIONS = {
    "position": (dict(positions=[20, 0, 7]), "positions"),
    "few positions": (dict(positions=[1]), "positions"),
    "scale": (dict(scale=0.0), "scale"),
    "scale in words": (dict(scale="0.1"), "scale is '0.1'"),
    "infinite scale": (dict(scale=np.inf), "scale"),
    "rotary": (dict(rotary=tamis.Rotary(1e4, 3)), "rope_dims"),
    "metadata of the format": (dict(metadata={"causal": "yes"}), "'causal'"),
    "metadata": (dict(metadata={"seed": 3}), "strings"),
}


@pytest.mark.parametrize("case", OPTIONS, ids=str)
def test_bad_options_are_refused(tmp_path, case):
    options, sentence = OPTIONS[case]
    with pytest.raises(tamis.Error) as error:
        tamis.save_trace(tmp_path / "t", changed(), **{"positions": POSITIONS, **options})
    assert sentence in str(error.value) and ".tamis-" not in str(error.value)
    assert os.listdir(tmp_path) == []


def test_sentences_name_the_file_that_was_asked_for(tmp_path):
    with pytest.raises(tamis.Error, match=str(tmp_path / "mine")):
        tamis.save_trace(tmp_path / "mine", changed(q=np.zeros((4, 3, 8))), POSITIONS)
    with pytest.raises(tamis.Error, match="absent"):
        tamis.save_trace(tmp_path / "absent" / "mine", changed(), POSITIONS)
    with pytest.raises(tamis.Error, match="is a directory"):
        tamis.save_trace(tmp_path, changed(), POSITIONS)
    with pytest.raises(tamis.Error, match="nowhere") as error:
        tamis.load_trace(tmp_path / "nowhere")
    assert error.value.code == "input"


def test_a_file_that_is_replaced_keeps_its_link_and_permissions(tmp_path):
    real = tmp_path / "real"
    real.write_text("before")
    real.chmod(0o640)
    (tmp_path / "link").symlink_to(real)
    tamis.save_trace(tmp_path / "link", changed(), POSITIONS)
    assert (tmp_path / "link").is_symlink() and tamis.load_trace(real).layers == (1,)
    assert stat.S_IMODE(real.stat().st_mode) == 0o640


def test_paths_need_not_be_utf8(tmp_path):
    path = os.path.join(os.fsencode(tmp_path), b"\xff.safetensors")
    tamis.save_trace(os.fsdecode(path), changed(), POSITIONS)
    assert tamis.load_trace(os.fsdecode(path)).layers == (1,)
    with pytest.raises(tamis.Error):
        tamis.load_trace(os.fsdecode(path) + "x")


def test_arrays_in_memory_are_a_trace_and_leave_no_file(tmp_path, monkeypatch):
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    monkeypatch.setattr("tempfile.tempdir", None)
    layer = random_layer()
    trace = tamis.Trace.from_arrays({4: layer}, POSITIONS, causal=False)
    assert os.listdir(tmp_path) == []
    assert all(same(getattr(trace.layer(4), name), layer[name]) for name in "qkv")
    with pytest.raises(tamis.Error, match="^arrays: "):
        tamis.Trace.from_arrays({4: {**layer, "q": layer["v"]}}, POSITIONS)
    with pytest.raises(tamis.Error, match="name of a file"):
        tamis.Trace.from_arrays({4: layer}, POSITIONS, name="../x")


def test_arrays_outlive_their_trace(tmp_path):
    layer = random_layer()
    tamis.save_trace(tmp_path / "t", {4: layer}, POSITIONS)
    k = tamis.load_trace(tmp_path / "t").layer(4).k
    gc.collect()
    assert same(k, layer["k"])


def test_a_layer_that_is_not_there_is_named(trace):
    with pytest.raises(tamis.Error, match="there is no layer 4; it has 3, 7") as error:
        tamis.load_trace(trace).layer(4)
    assert error.value.code == "usage"


def test_without_ml_dtypes_only_bf16_is_out_of_reach(tmp_path, monkeypatch):
    tamis.save_trace(tmp_path / "t", {1: random_layer(), 2: random_layer(kv="bf16")}, POSITIONS)
    monkeypatch.setitem(sys.modules, "ml_dtypes", None)
    trace = tamis.load_trace(tmp_path / "t")
    assert trace.layer(1).k.dtype == np.float16 and trace.layer(2).dtype == "bf16"
    with pytest.raises(ImportError, match="pip install ml_dtypes"):
        trace.layer(2).k  # noqa: B018
    tamis.profile(trace)
