"""Profiles equal the program's, from files and from arrays, and NumPy confirms k_eps of every row."""

import json

import conftest
import numpy as np
import pytest
import tamis
from conftest import DATA, exact_attention, make_tensors
from safetensors.numpy import load_file

ADDED = ("target", "backend", "threads", "seconds")
"""What the program adds to the profile that it prints."""


def program_profile(*args):
    printed = json.loads(conftest.tamis("profile", *args, "--json").stdout)
    return {name: value for name, value in printed.items() if name not in ADDED}


def layers_of(tensors, numbers):
    return {n: {name: tensors[f"layers.{n}.{name}"] for name in "qkv"} for n in numbers}


def test_the_shipped_trace_has_the_profile_that_the_program_prints():
    made = tamis.profile(DATA)
    assert made.data == program_profile(DATA)
    assert made.data == json.loads(made.to_json())


def test_options_mean_what_they_mean_to_the_program():
    made = tamis.profile(
        DATA, [0.1], 0.2, layers=[21], sinks=4, windows=[10, 100], seed=7, threads=1
    )
    options = ["--eps", "0.1", "--delta", "0.2", "--layer", "21", "--sinks", "4"]
    assert made.data == program_profile(DATA, *options, "--windows", "10,100", "--seed", "7")


def test_arrays_in_memory_have_the_profile_of_the_file():
    trace = tamis.load_trace(DATA)
    layers = {
        number: {name: getattr(trace.layer(number), name) for name in "qkv"}
        for number in trace.layers
    }
    arrays = tamis.Trace.from_arrays(
        layers,
        trace.positions,
        causal=trace.causal,
        scale=0.125,
        rotary=trace.rotary,
        metadata=trace.notes,
        name=DATA.name,
    )
    assert tamis.profile(arrays).data == tamis.profile(trace).data


def test_k_eps_of_every_row_is_that_of_f64_weights(tmp_path):
    tensors = make_tensors([3], tokens=300, queries=17, kv_heads=2, group=2, dtype="f32")
    eps = (0.01, 0.05, 0.3)
    path = conftest.save_trace(tmp_path / "t", tensors)
    rows = tamis.profile(path, eps, rows=True).rows[3]
    _, _, weights = exact_attention(tensors, 3, causal=True, scale=0.25)
    heads, queries, _ = weights.shape
    assert rows["k_eps"].shape == (heads, queries, len(eps))
    # docs/rounding.md: a logit errs by at most γ_{d+3}·|scale|·‖q‖·‖k‖ (nothing underflows here),
    # which moves a share of the mass by a factor within e^{±2δ}. k_eps is exact otherwise.
    lengths = (
        np.linalg.norm(tensors[f"layers.3.{name}"].astype(float), axis=-1).max() for name in "qk"
    )
    delta = 19 * 2**-24 / (1 - 19 * 2**-24) * 0.25 * np.prod(list(lengths))
    slack = np.expm1(2 * delta) + 2**-39
    for h in range(heads):
        for i, position in enumerate(tensors["positions"]):
            seen = position + 1
            dropped = np.cumsum(np.sort(weights[h, i, :seen]))
            for e, share in enumerate(eps):
                most, least = (
                    max(1, seen - np.searchsorted(dropped, share * (1 + sign * slack), "right"))
                    for sign in (-1, 1)
                )
                assert least <= rows["k_eps"][h, i, e] <= most
    assert np.array_equal(rows["n"], np.broadcast_to(tensors["positions"] + 1, (heads, queries)))


def test_rows_are_those_that_the_program_writes(tmp_path):
    conftest.tamis("profile", DATA, "--layer", "3", "--rows", tmp_path / "rows")
    written = load_file(tmp_path / "rows")
    rows = tamis.profile(DATA, layers=[3], rows=True).rows[3]
    assert {f"layers.3.{name}" for name in rows} == written.keys()
    for name, values in rows.items():
        stored = written[f"layers.3.{name}"]
        assert values.dtype == stored.dtype and np.array_equal(values, stored)


def test_profiles_are_saved_and_loaded_by_both(tmp_path):
    made = tamis.profile(DATA, layers=[12])
    assert made.rows == {}
    made.save(tmp_path / "ours.json")
    conftest.tamis("profile", DATA, "--layer", "12", "--out", tmp_path / "theirs.json")
    ours, theirs = ((tmp_path / f"{name}.json").read_bytes() for name in ("ours", "theirs"))
    assert ours == theirs
    assert tamis.load_profile(tmp_path / "theirs.json").data == made.data
    against = conftest.tamis(
        "profile", DATA, "--layer", "12", "--against", tmp_path / "ours.json", "--json"
    )
    printed = json.loads(against.stdout)["against"]["heads"]
    assert json.loads(json.dumps(made.compare(made))) == printed
    with pytest.raises(tamis.Error, match="ours.json"):
        (tmp_path / "ours.json").write_text("{}")
        tamis.load_profile(tmp_path / "ours.json")


def test_heads_are_found_by_number_and_eps():
    made = tamis.profile(DATA, layers=[12])
    first, second = made.head(12, 1), made.head(12, 1, 0.05)
    assert first["eps"] == 0.01 and second["eps"] == 0.05
    assert second["k_eps"] == first["other_eps"][0]["k_eps"] != first["k_eps"]
    with pytest.raises(KeyError, match="0.2"):
        made.head(12, 1, 0.2)
    with pytest.raises(KeyError, match="no head 9"):
        made.head(12, 9)


BAD = {
    "eps": (dict(eps=[0]), "eps"),
    "no eps": (dict(eps=[]), "eps"),
    "eps of words": (dict(eps=["much"]), "eps is 'much'"),
    "delta": (dict(delta=1), "delta"),
    "layer": (dict(layers=[4]), "there is no layer 4"),
    "windows": (dict(windows=[0]), "window"),
    "resamples": (dict(resamples=3), "resamples"),
    "seed": (dict(seed=-1), "seed"),
    "threads": (dict(threads=1.5), "threads"),
}


@pytest.mark.parametrize("case", BAD, ids=str)
def test_bad_options_are_refused(trace, case):
    options, sentence = BAD[case]
    with pytest.raises(tamis.Error, match=sentence) as error:
        tamis.profile(trace, **options)
    assert error.value.code == "usage"


def test_progress_is_told_and_may_stop_the_work():
    told = []
    tamis.profile(DATA, layers=[3], progress=lambda done, total: told.append((done, total)))
    assert told[-1][0] == told[-1][1] and all(0 <= done <= total for done, total in told)
    with pytest.raises(tamis.Error) as error:
        tamis.profile(DATA, progress=lambda done, total: False)
    assert error.value.code == "cancelled"

    def fails(done, total):
        raise RuntimeError("mine")

    with pytest.raises(RuntimeError, match="mine"):
        tamis.profile(DATA, progress=fails)
