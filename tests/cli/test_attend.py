"""tamis attend --dense: what it computes, certifies and writes."""

import json
import os
import shutil
import subprocess

import numpy as np
import pytest
from conftest import (
    DATA,
    ROOT,
    digest,
    exact_attention,
    make_tensors,
    sanitized,
    save_trace,
    sentence_of,
    tamis,
)
from safetensors import safe_open
from safetensors.numpy import load_file

CASES = [
    dict(dtype="f16"),
    dict(dtype="bf16"),
    dict(dtype="f32"),
    dict(dtype="f16", causal=False),
    dict(dtype="f32", kv_heads=1, group=1, queries=1, tokens=1),
    dict(dtype="bf16", kv_heads=1, group=8, dim=64, value_dim=24, tokens=300, queries=40),
    dict(dtype="f16", kv_heads=3, group=1, dim=7, value_dim=5, tokens=129, queries=3),
    dict(
        dtype="f32",
        kv_heads=2,
        group=4,
        dim=128,
        value_dim=128,
        tokens=128,
        queries=2,
        causal=False,
    ),
]


@pytest.mark.parametrize(
    "case", CASES, ids=lambda case: "-".join(f"{k}={v}" for k, v in case.items())
)
def test_outputs_are_within_their_certificates_of_f64_attention(tmp_path, case):
    case = dict(case)
    causal = case.pop("causal", True)
    tensors = make_tensors([0, 11], **case)
    path = save_trace(tmp_path / "trace.safetensors", tensors, causal)
    before = digest(path)
    done = tamis(
        "attend", path, "--dense", "--check", "--json", "--out", tmp_path / "out.safetensors"
    )
    layers = {layer["layer"]: layer for layer in json.loads(done.stdout)["layers"]}
    assert digest(path) == before
    assert sorted(p.name for p in tmp_path.iterdir()) == ["out.safetensors", "trace.safetensors"]

    written = load_file(tmp_path / "out.safetensors")
    tokens = tensors["layers.0.k"].shape[1]
    for layer in (0, 11):
        q, k, v = (tensors[f"layers.{layer}.{name}"] for name in "qkv")
        out, lse, tau, error, lse_error, keys, read, grade, dense = (
            written.pop(f"layers.{layer}.{name}")
            for name in (
                "out",
                "lse",
                "tau",
                "error",
                "lse_error",
                "keys",
                "bytes",
                "grade",
                "dense",
            )
        )
        exact, exact_lse, _ = exact_attention(tensors, layer, causal, 0.25)
        assert out.shape == exact.shape and out.dtype == np.float32
        assert np.all(np.linalg.norm(out - exact, axis=-1) <= error)
        # Any two averages of the values are this close, so a certificate must be smaller
        # to say anything.
        assert np.all(error < 2 * np.linalg.norm(v.astype(np.float64), axis=-1).max())
        assert np.all(np.abs(lse - exact_lse) <= lse_error)
        assert lse_error.max() == layers[layer]["lse_error"]["max"]
        seen = tensors["positions"] + 1 if causal else np.full(q.shape[1], tokens)
        assert np.array_equal(keys, np.broadcast_to(seen, q.shape[:2]))
        assert np.array_equal(read, keys * (q.shape[2] + v.shape[2]) * k.dtype.itemsize)
        assert np.all(grade == 0) and np.all(dense == 1) and np.all((tau >= 0) & (tau <= 1))
    assert written == {}


def test_metadata_of_the_result_say_where_it_comes_from(trace, tmp_path):
    tamis("attend", trace, "--dense", "--out", tmp_path / "out.safetensors")
    with safe_open(tmp_path / "out.safetensors", framework="np") as file:
        metadata = file.metadata()
    info = json.loads(tamis("info", "--json").stdout)
    assert metadata == {
        "format": "tamis-attention",
        "trace": "small.safetensors",
        "budget": "dense",
        "grades": "0: proved",
        "target": info["target"],
        "backend": "cpu",
        "tamis": info["version"],
    }


def test_json_has_the_documented_fields_and_agrees_with_the_file(trace, tmp_path):
    done = tamis(
        "attend", trace, "--dense", "--check", "--json", "--out", tmp_path / "out.safetensors"
    )
    report = json.loads(done.stdout)
    assert set(report) == {
        "trace", "budget", "queries", "checked", "violations", "dense_fallbacks", "tau", "error", "lse_error",
        "bytes", "keys", "layers", "target", "backend", "threads", "seconds", "version",
    }  # fmt: skip
    assert (
        report["queries"] == 2 * 6 * 5
        and report["violations"] == 0
        and report["dense_fallbacks"] == 0
    )
    assert report["checked"] is True and report["trace"] == str(trace)
    written = load_file(tmp_path / "out.safetensors")
    for field in ("tau", "error"):
        values = np.sort(
            np.concatenate([written[f"layers.{layer}.{field}"].ravel() for layer in (3, 7)])
        )
        assert report[field]["max"] == values[-1]
        assert report[field]["median"] == values[len(values) // 2 - 1]
        assert report[field]["p90"] == values[int(np.ceil(0.9 * len(values))) - 1]
    for field in ("error", "lse_error"):
        assert 0 < report[field]["true"]["max"] <= report[field]["max"]
    for field in ("bytes", "keys"):
        assert [report[field][name] for name in ("median", "p90", "max")] == [1, 1, 1]
    # Counted once per KV head and query: two layers with two KV heads each.
    positions = np.linspace(0, 199, 5).astype(np.int64)
    assert report["keys"]["dense"] == 2 * 2 * np.sum(positions + 1)
    assert report["bytes"]["dense"] == report["keys"]["dense"] * (16 + 16) * 2
    assert [layer["layer"] for layer in report["layers"]] == [3, 7]
    assert report["seconds"] == pytest.approx(sum(layer["seconds"] for layer in report["layers"]))


def test_without_check_violations_are_unknown_rather_than_zero(trace):
    report = json.loads(tamis("attend", trace, "--dense", "--json").stdout)
    assert report["checked"] is False and report["violations"] is None
    assert "true" not in report["error"] and report["layers"][0]["violations"] is None


def test_layer_restricts_to_the_layers_named(trace, tmp_path):
    out = tmp_path / "out.safetensors"
    tamis("attend", trace, "--dense", "--layer", 7, "--out", out)
    assert {name.split(".")[1] for name in load_file(out)} == {"7"}
    tamis("attend", "--layer", 7, "--layer=3", trace, "--dense", "--out", out)
    assert {name.split(".")[1] for name in load_file(out)} == {"3", "7"}


@pytest.mark.parametrize("path", [DATA, None], ids=["shipped", "random"])
def test_the_number_of_threads_does_not_change_a_byte(path, trace, tmp_path):
    for threads in (1, 2, 3):
        tamis(
            "attend",
            path or trace,
            "--dense",
            "--threads",
            threads,
            "--out",
            tmp_path / f"{threads}.safetensors",
        )
    assert digest(tmp_path / "1.safetensors") == digest(tmp_path / "2.safetensors")
    assert digest(tmp_path / "1.safetensors") == digest(tmp_path / "3.safetensors")


def test_the_table_has_a_line_per_layer(trace):
    lines = tamis("attend", trace, "--dense", "--check").stdout.splitlines()
    assert lines[0].split()[:2] == ["layer", "heads"] and [
        line.split()[0] for line in lines[1:3]
    ] == [
        "3",
        "7",
    ]
    assert lines[-1].endswith("0 violations against the f64 reference.")
    assert len({len(line) for line in lines[:3]}) == 1


def test_every_tensor_written_starts_at_a_multiple_of_its_element_size(tmp_path):
    odd = make_tensors([0, 1, 2], kv_heads=1, group=1, queries=3, dim=5, value_dim=5, tokens=9)
    tamis("attend", save_trace(tmp_path / "odd", odd), "--dense", "--out", tmp_path / "out")
    raw = (tmp_path / "out").read_bytes()
    length = int.from_bytes(raw[:8], "little")
    sizes = {"F64": 8, "I64": 8, "F32": 4, "U8": 1}
    entries = json.loads(raw[8 : 8 + length])
    del entries["__metadata__"]
    assert len(entries) == 27
    for name, entry in entries.items():
        assert (8 + length + entry["data_offsets"][0]) % sizes[entry["dtype"]] == 0, name


def test_logits_too_large_for_f32_are_bad_input_that_names_the_layer(tmp_path):
    tensors = make_tensors([4], dtype="f32")
    tensors["layers.4.q"] *= 1e30
    tensors["layers.4.k"] *= 1e30
    path = save_trace(tmp_path / "huge.safetensors", tensors)
    done = tamis("attend", path, "--dense", "--out", tmp_path / "out.safetensors", status=2)
    assert sentence_of(done).startswith(f"{path}: layer 4: ")
    assert not (tmp_path / "out.safetensors").exists()


def test_a_certificate_that_lies_is_found_and_the_answer_is_no(trace, tmp_path):
    """From outside, all bounds are set to zero: every inexact output must then be a violation."""
    compiler = shutil.which("c++")
    if compiler is None or sanitized():
        pytest.skip("needs a compiler and a program without sanitizers: not run")
    source = tmp_path / "liar.cpp"
    source.write_text(
        "#include <tamis/attention.h>\n"
        "tamis::Rounding tamis::attention_rounding(const Shape&, std::int64_t, double, double, double)"
        " { return {}; }\n"
    )
    liar = tmp_path / "liar.so"
    command = [
        compiler,
        "-std=c++20",
        "-shared",
        "-fPIC",
        f"-I{ROOT / 'include'}",
        source,
        "-o",
        liar,
    ]
    subprocess.run(command, check=True)
    env = os.environ | {"LD_PRELOAD": str(liar)}
    report = json.loads(
        tamis("attend", trace, "--dense", "--check", "--json", status=1, env=env).stdout
    )
    assert report["error"]["max"] == 0 < report["error"]["true"]["max"]
    assert 0 < report["violations"] <= report["queries"]
    table = tamis("attend", trace, "--dense", "--check", status=1, env=env).stdout
    assert f"{report['violations']} violations" in table
