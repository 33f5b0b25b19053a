"""tools/cut_trace.py: what it keeps and what it refuses."""

import subprocess
import sys

import numpy as np
import pytest
from conftest import ROOT, digest, make_tensors, save_trace, tamis
from safetensors.numpy import load_file


def cut(*args, status=0):
    """Runs the script and returns what it says on standard error."""
    done = subprocess.run(
        [sys.executable, ROOT / "tools" / "cut_trace.py", *map(str, args)],
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == status, done.stderr
    return done.stderr


def test_a_cut_trace_holds_what_was_asked_for_and_is_a_trace(trace, tmp_path):
    small = tmp_path / "cut.safetensors"
    assert cut(trace, small, "--layer", "7:1", "--tokens", 150, "--queries", 2) == ""
    whole, part = load_file(trace), load_file(small)
    assert set(part) == {"positions", "layers.7.q", "layers.7.k", "layers.7.v"}
    kept = [list(whole["positions"]).index(p) for p in part["positions"]]
    assert len(kept) == 2 and (part["positions"] < 150).all()
    np.testing.assert_array_equal(part["layers.7.k"], whole["layers.7.k"][1:2, :150])
    np.testing.assert_array_equal(part["layers.7.v"], whole["layers.7.v"][1:2, :150])
    np.testing.assert_array_equal(part["layers.7.q"], whole["layers.7.q"][3:6][:, kept])
    tamis("attend", small, "--dense", "--check")


def test_the_input_is_never_overwritten(trace, tmp_path):
    before = digest(trace)
    link = tmp_path / "link"
    link.symlink_to(trace.name)
    for output in (trace, link):
        assert (
            cut(trace, output, status=2)
            == f"cut_trace: {output}: is the input itself; give another name\n"
        )
    assert digest(trace) == before and link.is_symlink()


@pytest.mark.parametrize("name", ["layers.x", "layers.x.q", "layers.3.queries", "layers.-3.q"])
def test_a_tensor_that_is_no_part_of_a_trace_is_named(name, tmp_path):
    path = save_trace(
        tmp_path / "bad.safetensors", make_tensors([3]) | {name: np.ones(1, np.float32)}
    )
    said = cut(path, tmp_path / "out", status=2)
    assert (
        said.startswith(f"cut_trace: {path}: tensor '{name}' is no part of a trace")
        and said.count("\n") == 1
    )
    assert not (tmp_path / "out").exists()


def test_a_file_without_layers_is_refused(tmp_path):
    path = save_trace(tmp_path / "none.safetensors", {"positions": np.zeros(1, np.int64)})
    assert cut(path, tmp_path / "out", status=2).startswith(
        f"cut_trace: {path}: the trace has no layers"
    )


def test_a_missing_input_is_refused(tmp_path):
    (tmp_path / "out").write_text("kept")
    assert cut(tmp_path / "absent", tmp_path / "out", status=2).startswith(
        f"cut_trace: {tmp_path}/absent: "
    )
    assert (tmp_path / "out").read_text() == "kept"
