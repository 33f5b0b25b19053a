"""tamis bench: its measurements, and its errors for options that make no sense."""

import json

import numpy as np
import pytest
from conftest import DATA, make_tensors, save_trace, sentence_of, tamis

TINY = ["--heads", "4/2", "--dim", 32, "--tokens", 2048, "--steps", 3]


def bench(*args, **options):
    return json.loads(tamis("bench", *args, "--json", **options).stdout)


def test_json_has_the_documented_fields_and_is_plausible():
    report = bench(*TINY, "--threads", 1)
    assert set(report) == {
        "target", "cpu", "threads", "heads", "kv_heads", "dim", "tokens", "batch", "steps", "budget", "bits",
        "prefer", "keys", "seed", "dense_ms", "sparse_ms", "append_us", "prompt_us", "bytes", "tau",
        "relative_error", "checked", "violations", "reached", "dense_fallbacks", "cache_share", "cache_bytes",
        "version",
    }  # fmt: skip
    info = json.loads(tamis("info", "--json").stdout)
    assert report["target"] == info["target"] and report["version"] == info["version"]
    assert (report["heads"], report["kv_heads"], report["dim"], report["tokens"]) == (
        4,
        2,
        32,
        2048,
    )
    assert report["batch"] == 1 and report["threads"] == 1 and report["keys"] == "synthetic"
    assert report["budget"] == "mass:0.05" and report["bits"] == 12 and report["prefer"] == "bytes"
    assert min(report[name] for name in ("dense_ms", "sparse_ms", "append_us", "prompt_us")) > 0
    assert 0 < report["bytes"]["median"] <= report["bytes"]["p90"] <= 2
    assert 0 < report["tau"]["median"] <= report["tau"]["p90"] <= 1
    assert 0 <= report["relative_error"]["median"] <= report["relative_error"]["p90"]
    assert report["checked"] == 3 * 2 and report["violations"] == 0
    assert sum(report["reached"].values()) == 3 * 4
    share = report["cache_bytes"] / (2 * 2 * 2048 * 32 * 2)
    assert report["cache_share"] == pytest.approx(share)


def test_a_cache_of_12_bits_takes_less_than_bf16():
    report = bench("--heads", "2/1", "--dim", 64, "--tokens", 8192, "--steps", 1)
    assert report["cache_share"] < 0.9
    # Errors are those of the stored bits: 12 bits are more accurate than the budget requires.
    assert report["relative_error"]["median"] < 0.05
    fewer = bench("--heads", "2/1", "--dim", 64, "--tokens", 8192, "--steps", 1, "--bits", 8)
    assert fewer["cache_share"] < report["cache_share"]


def test_values_of_few_heavy_keys_are_read_though_most_blocks_hold_none():
    """Where a few keys carry a row, outputs are off by tau times the spread of the values, which is
    about twice the output's norm here, and not by the whole spread."""
    report = bench("--heads", "4/1", "--dim", 128, "--tokens", 32768, "--steps", 8)
    assert report["relative_error"]["p90"] < 2 * 0.05


def test_a_batch_has_as_many_queries_a_step():
    report = bench(*TINY, "--batch", 3, "--budget", "topk:50", "--prefer", "time")
    assert sum(report["reached"].values()) == 3 * 3 * 4 and report["violations"] == 0
    assert report["budget"] == "topk:50" and report["prefer"] == "time"


def test_the_same_seed_makes_the_same_numbers():
    same = ("bytes", "tau", "relative_error", "reached", "cache_bytes")
    first, again, other = (bench(*TINY, "--seed", seed) for seed in (5, 5, 6))
    assert all(first[name] == again[name] for name in same)
    assert first["tau"] != other["tau"]


def test_keys_of_a_trace_are_repeated_and_heads_joined(tmp_path):
    report = bench("--trace", DATA, "--heads", "6/2", "--dim", 128, "--tokens", 3000, "--steps", 2)
    assert report["keys"] == str(DATA) and report["violations"] == 0 and report["tokens"] == 3000
    single = bench("--trace", DATA, "--heads", "3/1", "--dim", 64, "--tokens", 3000, "--steps", 2)
    assert single["violations"] == 0
    # Queries are repeated if there are fewer than steps, or if groups are smaller than requested.
    tensors = make_tensors([0], tokens=500, queries=2, kv_heads=1, group=1, dim=16, value_dim=16)
    path = save_trace(tmp_path / "trace.safetensors", tensors)
    few = bench("--trace", path, "--heads", "4/2", "--dim", 32, "--tokens", 1300, "--steps", 5)
    assert few["violations"] == 0 and np.isfinite(few["tau"]["median"])


def test_the_table_says_machine_shape_and_results():
    lines = tamis("bench", *TINY, "--threads", 1).stdout.splitlines()
    assert (
        lines[0].endswith("1 threads") and "4 query heads over 2 KV heads, head size 32" in lines[1]
    )
    heading = next(line for line in lines if "dense ms" in line)
    for word in ("sparse ms", "append us", "bytes", "tau <=", "true error", "met", "cache", "MB"):
        assert word in heading
    assert "0 violations" in " ".join(lines)


BAD = {
    "heads in words": (["--heads", "many"], "--heads: 'many' is not a number of query heads"),
    "heads that do not divide": (["--heads", "9/2"], "divides it"),
    "no heads": (["--heads", "0/0"], "--heads"),
    "a head of no size": (["--dim", 0], "--dim: '0' is not a whole number from 1 to 1024"),
    "a head too large": (["--dim", 1025], "1024"),
    "no tokens": (["--tokens", 0], "--tokens: '0' is not a whole number from 1 on"),
    "no steps": (["--steps", 0], "--steps"),
    "no batch": (["--batch", -1], "--batch"),
    "bits that cannot be stored": (
        ["--bits", 10],
        "--bits: there is no '10'; available: 8, 12, 16",
    ),
    "a budget that is none": (["--budget", "mass:2"], "--budget: "),
    "a profile": (["--budget", "profile:x.json"], "profile"),
    "nothing to prefer": (["--prefer", "speed"], "available: bytes, time"),
    "a seed with a sign": (["--seed", "-1"], "--seed"),
    "more than memory": (["--tokens", 10**9], "machine has"),
    "no such trace": (["--trace", "no/such.safetensors"], "no/such.safetensors"),
    "a trace of other heads": (["--trace", DATA, "--dim", 96], "--dim 96"),
    "a trace and few tokens": (["--trace", DATA, "--dim", 64, "--tokens", 100], "at least 256"),
}


@pytest.mark.parametrize("name", BAD)
def test_a_bad_option_is_one_sentence(name):
    args, part = BAD[name]
    assert part in sentence_of(tamis("bench", *args, status=2))


def test_a_trace_that_is_too_short_is_named(tmp_path):
    path = save_trace(tmp_path / "short.safetensors", make_tensors([0]))
    sentence = sentence_of(tamis("bench", "--trace", path, "--dim", 16, "--tokens", 512, status=2))
    assert str(path) in sentence and "at least 384" in sentence
