"""tamis info: the build, and the contents of a trace."""

import json
import os

import pytest
from conftest import DATA, digest, make_tensors, save_trace, tamis


def test_version_is_the_same_everywhere():
    version = json.loads(tamis("info", "--json").stdout)["version"]
    assert tamis("--version").stdout == f"tamis {version}\n"
    assert tamis("info").stdout.splitlines()[0].split() == ["version", version]


def test_the_build_as_json():
    info = json.loads(tamis("info", "--json", "--threads", 1).stdout)
    assert set(info) == {
        "version", "target", "target_forced", "targets", "backend", "threads", "hardware_threads",
        "parallel_runtime", "page_tokens", "libraries",
    }  # fmt: skip
    runs = [target["name"] for target in info["targets"] if target["runs_here"]]
    assert "scalar" in runs and info["page_tokens"] == 128 and info["threads"] == 1
    assert info["target"] == os.environ.get("TAMIS_TARGET", runs[-1])


def test_the_libraries_are_those_of_the_engine_and_of_the_lab():
    listed = json.loads(tamis("info", "--json").stdout)["libraries"]
    names = [library.split()[0] for library in listed]
    assert names == ["xxHash", "GMP", "MPFR", "SQLite"]
    (line,) = [line for line in tamis("info").stdout.splitlines() if line.startswith("libraries")]
    assert line.removeprefix("libraries").strip() == ", ".join(listed)


def test_every_target_that_runs_here_can_be_forced():
    for target in json.loads(tamis("info", "--json").stdout)["targets"]:
        env = os.environ | {"TAMIS_TARGET": target["name"]}
        if not target["runs_here"]:
            assert target["name"] in tamis("info", status=2, env=env).stderr
            continue
        forced = json.loads(tamis("info", "--json", env=env).stdout)
        assert forced["target"] == target["name"] and forced["target_forced"] is True


@pytest.mark.parametrize(
    "args",
    [("--json", "info"), ("info", "--json"), ("--threads", "1", "info", "--backend=cpu", "--json")],
)
def test_global_options_work_before_and_after_the_command(args):
    assert json.loads(tamis(*args).stdout)["backend"] == "cpu"


def test_the_shipped_trace():
    before = digest(DATA)
    held = json.loads(tamis("info", DATA, "--json").stdout)
    assert held["tokens"] == 8192 and held["causal"] is True
    assert [layer["layer"] for layer in held["layers"]] == [3, 12, 21]
    assert "SmolLM2" in held["metadata"]["model"] and "Apache-2.0" in held["metadata"]["licence"]
    text = tamis("info", DATA).stdout
    assert "SmolLM2" in text and "8192" in text
    assert digest(DATA) == before


@pytest.mark.parametrize("dtype", ["f16", "bf16", "f32"])
def test_shapes_and_types_of_a_trace(dtype, tmp_path):
    tensors = make_tensors([5, 2], dtype=dtype, value_dim=24, queries=4)
    held = json.loads(
        tamis(
            "info", save_trace(tmp_path / "t.safetensors", tensors, causal=False), "--json"
        ).stdout
    )
    assert held["causal"] is False and held["queries"] == 4
    assert held["positions"] == {"first": 0, "last": 199}
    assert held["rotary"] is None
    assert [layer["layer"] for layer in held["layers"]] == [2, 5]
    layer = held["layers"][0]
    assert (layer["query_heads"], layer["kv_heads"], layer["head_dim"], layer["value_dim"]) == (
        6,
        2,
        16,
        24,
    )
    assert layer["kv_dtype"] == layer["query_dtype"] == dtype and layer["scale"] == 0.25


def test_metadata_cannot_steer_the_terminal(tmp_path):
    from safetensors.numpy import save_file

    path = tmp_path / "t.safetensors"
    save_file(
        make_tensors([0]),
        path,
        {"scale": "1", "causal": "true", "model": "\x1b[31mé\nred", "\x9b32m": "\x85"},
    )
    text = tamis("info", path).stdout
    assert r"\x1b[31mé\x0ared" in text and r"\xc2\x9b32m" in text and r"\xc2\x85" in text
    assert not any(c < " " and c != "\n" or "\x7f" <= c <= "\x9f" for c in text)
    json_text = tamis("info", path, "--json").stdout
    assert json_text.isascii() and json.loads(json_text)["metadata"]["\x9b32m"] == "\x85"
