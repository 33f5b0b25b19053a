"""Bad usage, bad input and failures: one sentence, the right exit status, and no files left."""

import json
import os
import pty
import resource
import shutil
import signal
import struct
import subprocess
import time

import numpy as np
import pytest
from conftest import DATA, digest, make_tensors, program, sanitized, save_trace, sentence_of, tamis

USAGE = {
    "no command": ([], "a command is missing"),
    "unknown command": (["attnd"], "there is no command 'attnd'"),
    "unknown option": (["info", "--bogus"], "--bogus"),
    "unknown option before any command": (["--bogus"], "there is no option '--bogus'"),
    "missing trace": (["attend", "--dense"], "TRACE is required"),
    "two traces": (["attend", DATA, "another", "--dense"], "another"),
    "missing value": (["attend", DATA, "--dense", "--out"], "--out: its value is missing"),
    "no threads": (["info", "--threads", "0"], "--threads: '0' is not a whole number from 1 to"),
    "negative threads": (["info", "--threads=-2"], "--threads: '-2' is not"),
    "threads in words": (["--threads", "two", "info"], "--threads: 'two' is not"),
    "threads beyond int": (["info", "--threads", "99999999999999999999"], "is not a whole number"),
    "unknown backend": (
        ["info", "--backend", "gpu"],
        "--backend: there is no 'gpu'; available: cpu",
    ),
    "unknown shell": (["completion", "tcsh"], "there is no 'tcsh'; available: bash, zsh, fish"),
    "unknown manual": (["manual", "pdf"], "there is no 'pdf'; available: man, markdown"),
    "layer not in trace": (["attend", DATA, "--dense", "--layer", "4"], "it has 3, 12, 21"),
    "layer in words": (["attend", DATA, "--dense", "--layer", "four"], "--layer"),
    "no mode": (["attend", DATA], "give --budget, or --dense"),
    "two modes": (
        ["attend", DATA, "--dense", "--budget", "mass:0.05"],
        "--dense and --budget exclude each other",
    ),
    "bits without a budget": (
        ["attend", DATA, "--dense", "--bits", "12"],
        "--bits says how to read",
    ),
    "bits that cannot be stored": (
        ["attend", DATA, "--budget", "mass:0.05", "--bits", "4"],
        "--bits: there is no '4'; available: 8, 12, 16",
    ),
    "grade that is not there": (
        ["attend", DATA, "--budget", "mass:0.05", "--grade", "confident"],
        "--grade: there is no 'confident'; available: proved",
    ),
    "budget without a value": (["attend", DATA, "--budget"], "--budget: its value is missing"),
    "two budgets": (["attend", DATA, "--budget", "mass:0.05", "--budget", "topk:4"], "--budget"),
    "out is a directory": (
        ["attend", DATA, "--dense", "--out", "docs"],
        "--out: docs: is a directory",
    ),
    "out is nothing": (
        ["attend", DATA, "--dense", "--out", ""],
        "--out: the name of a file to write is empty",
    ),
    "out is a device": (
        ["attend", DATA, "--dense", "--out", "/dev/null"],
        "--out: /dev/null: is a pipe, a device",
    ),
}


@pytest.mark.parametrize("name", USAGE)
def test_bad_usage_is_one_sentence_that_names_the_fault(name):
    args, part = USAGE[name]
    assert part in sentence_of(tamis(*args, status=2))


def test_an_unknown_target_is_bad_usage():
    done = tamis("info", status=2, env=os.environ | {"TAMIS_TARGET": "z80"})
    assert "z80" in sentence_of(done)


def header_and_data(path):
    raw = path.read_bytes()
    length = struct.unpack("<Q", raw[:8])[0]
    return json.loads(raw[8 : 8 + length]), raw[8 + length :]


def rewrite(path, change=None, text=None):
    """Writes the file again with a changed header and unchanged data."""
    header, data = header_and_data(path)
    if change:
        change(header)
    encoded = text if text is not None else json.dumps(header).encode()
    path.write_bytes(struct.pack("<Q", len(encoded)) + encoded + data)


def edit_tensor(name, **fields):
    return lambda path: rewrite(path, lambda header: header[name].update(fields))


def edit_numbers(name, value):
    def change(path):
        tensors = make_tensors([3, 7])
        tensors[name].flat[-1] = value
        save_trace(path, tensors)

    return change


def with_metadata(**fields):
    return lambda path: rewrite(path, lambda header: header["__metadata__"].update(fields))


def without(name):
    def change(path):
        tensors = make_tensors([3, 7])
        del tensors[name]
        save_trace(path, tensors)

    return change


def reshaped(name, shape):
    def change(path):
        tensors = make_tensors([3, 7])
        tensors[name] = np.ones(shape, np.float16)
        save_trace(path, tensors)

    return change


def overlap(path):
    def change(header):
        begin, end = header["layers.3.k"]["data_offsets"]
        header["layers.7.k"]["data_offsets"] = [begin, end]

    rewrite(path, change)


def duplicate(path):
    header, _ = header_and_data(path)
    text = json.dumps(header)
    rewrite(
        path, text=(text[:-1] + ', "positions": ' + json.dumps(header["positions"]) + "}").encode()
    )


def past_the_end(path):
    size = len(header_and_data(path)[1])
    rewrite(path, lambda header: header["layers.3.k"].update(data_offsets=[size, size + 12800]))


def directory(path):
    path.unlink()
    path.mkdir()


INPUT = {
    "missing file": (lambda path: path.unlink(), "there is no such file"),
    "directory": (directory, "is a directory"),
    "empty file": (lambda path: path.write_bytes(b""), ""),
    "truncated in the header": (lambda path: path.write_bytes(path.read_bytes()[:100]), ""),
    "truncated in the data": (lambda path: path.write_bytes(path.read_bytes()[:-1]), ""),
    "bytes after the data": (lambda path: path.write_bytes(path.read_bytes() + b"x"), ""),
    "header length beyond the file": (lambda path: path.write_bytes(b"\xff" * 7 + b"\x7f{}"), ""),
    "header not JSON": (lambda path: rewrite(path, text=b"{nonsense"), ""),
    "header not UTF-8": (lambda path: rewrite(path, text=b'{"\xff\xfe": 1}'), ""),
    "header of deep arrays": (
        lambda path: rewrite(path, text=b'{"a":{"shape":' + b"[" * 100000),
        "shape of tensor 'a'",
    ),
    "header of deep objects": (
        lambda path: rewrite(path, text=b'{"a":' * 100000),
        "has a field 'a'",
    ),
    "overlapping tensors": (overlap, "layers."),
    "offsets past the end": (past_the_end, "layers.3.k"),
    "duplicate name": (duplicate, "positions"),
    "dimension 2^63": (edit_tensor("layers.3.k", shape=[2**63, 1, 1]), "layers.3.k"),
    "dimension 2^62": (edit_tensor("layers.3.k", shape=[2**62, 2**62, 16]), "layers.3.k"),
    "negative dimension": (edit_tensor("layers.3.k", shape=[-2, 200, 16]), "layers.3.k"),
    "unknown dtype": (edit_tensor("layers.3.k", dtype="F17"), "layers.3.k"),
    "wrong dtype": (edit_tensor("layers.3.k", dtype="I16"), "layers.3.k"),
    "wrong rank": (reshaped("layers.3.k", (2, 3200)), "layers.3.k"),
    "wrong shape": (reshaped("layers.3.v", (2, 199, 16)), "layers.3.v"),
    "heads that do not divide": (reshaped("layers.3.q", (5, 5, 16)), "layers.3.q"),
    "zero tokens": (reshaped("layers.3.k", (2, 0, 16)), "layers.3.k"),
    "no positions": (without("positions"), "positions"),
    "no values": (without("layers.7.v"), "layers.7.v"),
    "NaN in q": (edit_numbers("layers.3.q", np.nan), "layers.3.q"),
    "infinity in k": (edit_numbers("layers.7.k", np.inf), "layers.7.k"),
    "minus infinity in v": (edit_numbers("layers.3.v", -np.inf), "layers.3.v"),
    "position past the end": (edit_numbers("positions", 200), "positions"),
    "negative position": (edit_numbers("positions", -1), "positions"),
    "bad scale": (with_metadata(scale="wide"), "scale"),
    "scale zero": (with_metadata(scale="0"), "scale"),
    "bad causal": (with_metadata(causal="maybe"), "causal"),
}


@pytest.mark.parametrize("name", INPUT)
def test_bad_input_is_one_sentence_that_names_the_file(name, trace, tmp_path):
    change, part = INPUT[name]
    change(trace)
    before = digest(trace) if trace.is_file() else None
    limit = 2 << 30  # bytes of address space; a false size must not become an allocation
    done = tamis(
        "attend", trace, "--dense", "--out", tmp_path / "out.safetensors", "--threads", 1, status=2,
        preexec_fn=address_space(limit),
    )  # fmt: skip
    sentence = sentence_of(done)
    assert str(trace) in sentence and part in sentence
    assert before == (digest(trace) if trace.is_file() else None)
    assert [p for p in tmp_path.iterdir() if p != trace] == []


def address_space(limit):
    if sanitized():
        return None
    return lambda: resource.setrlimit(resource.RLIMIT_AS, (limit, limit))


@pytest.mark.skipif(os.geteuid() == 0, reason="root reads everything")
def test_an_unreadable_file_is_bad_input(trace):
    trace.chmod(0)
    assert "permission" in sentence_of(tamis("info", trace, status=2))


def test_info_refuses_a_bad_header_too(trace):
    trace.write_bytes(b"not a trace at all")
    assert str(trace) in sentence_of(tamis("info", trace, status=2))


@pytest.fixture
def damaged(tmp_path):
    """A trace with bad numbers: any other error was thus found before the numbers were read."""
    tensors = make_tensors([3])
    tensors["layers.3.q"].flat[0] = np.nan
    return save_trace(tmp_path / "damaged.safetensors", tensors)


def test_an_output_folder_that_is_missing_is_found_before_the_work(damaged, tmp_path):
    done = tamis(
        "attend", damaged, "--dense", "--out", tmp_path / "nowhere" / "out.safetensors", status=3
    )
    assert f"--out: {tmp_path}/nowhere/out.safetensors: there is no folder" in sentence_of(done)


def test_a_link_that_leads_to_no_folder_is_found_before_the_work(damaged, tmp_path):
    link = tmp_path / "link"
    link.symlink_to("nowhere/out.safetensors")
    done = tamis("attend", damaged, "--dense", "--out", link, status=3)
    assert f"--out: {link}: there is no folder {tmp_path}/nowhere" in sentence_of(done)


def test_a_name_that_is_too_long_is_found_before_the_work(damaged, tmp_path):
    done = tamis("attend", damaged, "--dense", "--out", tmp_path / ("x" * 256), status=3)
    assert "File name too long" in sentence_of(done)


def test_a_long_name_and_a_link_to_no_file_yet_are_written(trace, tmp_path):
    long = tmp_path / ("x" * 250)
    tamis("attend", trace, "--dense", "--out", long)
    link = tmp_path / "link"
    link.symlink_to("real.safetensors")
    tamis("attend", trace, "--dense", "--out", link)
    assert link.is_symlink() and digest(tmp_path / "real.safetensors") == digest(long)


def test_a_full_disk_leaves_no_partial_file(trace, tmp_path):
    """A limit on file size stands in for a full disk: writing fails halfway."""

    def small_files():
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (1000, 1000))

    folder = tmp_path / "full"
    folder.mkdir()
    out = folder / "out.safetensors"
    done = tamis("attend", trace, "--dense", "--out", out, status=3, preexec_fn=small_files)
    assert str(out) in sentence_of(done)
    assert list(folder.iterdir()) == []


def test_a_full_disk_under_standard_output_is_a_failure():
    with open("/dev/full", "w") as full:
        done = subprocess.run(
            [program(), "info"], stdout=full, stderr=subprocess.PIPE, text=True, check=False
        )
    assert done.returncode == 3 and done.stderr.startswith("tamis: standard output")


@pytest.fixture(scope="module")
def slow_trace(tmp_path_factory):
    """A trace whose f64 check takes seconds on one thread."""
    tensors = make_tensors(
        [0], tokens=8192, queries=512, kv_heads=1, group=8, dim=64, value_dim=64, dtype="f32"
    )
    return save_trace(tmp_path_factory.mktemp("slow") / "slow.safetensors", tensors, causal=False)


def slow_command(slow_trace, out, mode=("--dense",)):
    return [program(), "attend", slow_trace, *mode, "--check", "--threads", "1", "--out", out]


@pytest.mark.parametrize("mode", [["--dense"], ["--budget", "mass:0.05"]], ids=["dense", "budget"])
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_ctrl_c_during_the_work_ends_by_the_signal_and_leaves_no_file(
    slow_trace, tmp_path, number, mode
):
    running = subprocess.Popen(
        slow_command(slow_trace, tmp_path / "out.safetensors", mode), stderr=subprocess.PIPE
    )
    time.sleep(0.8)
    running.send_signal(number)
    _, errors = running.communicate(timeout=60)
    assert running.returncode == -number and errors == b""
    assert list(tmp_path.iterdir()) == []


SLOW_FSYNC = """
#include <time.h>
int fsync(int fd) {
  struct timespec left = {SECONDS, 0};
  (void)fd;
  while (nanosleep(&left, &left) != 0) {
  }
  return 0;
}
"""


def while_writing(trace, folder, seconds, **options):
    """A run about to rename its finished temporary file; it first syncs it for `seconds`."""
    compiler = shutil.which("cc")
    if compiler is None or sanitized():
        pytest.skip("needs a compiler and a program without sanitizers: not run")
    source = trace.parent / "slow_fsync.c"
    source.write_text(SLOW_FSYNC.replace("SECONDS", str(seconds)))
    library = trace.parent / "slow_fsync.so"
    subprocess.run([compiler, "-shared", "-fPIC", source, "-o", library], check=True)
    folder.mkdir()
    tamis("attend", trace, "--dense", "--out", trace.parent / "expected")
    size = (trace.parent / "expected").stat().st_size
    running = subprocess.Popen(
        [program(), "attend", trace, "--dense", "--out", folder / "out.safetensors"],
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=os.environ | {"LD_PRELOAD": str(library)}, **options,
    )  # fmt: skip
    deadline = time.monotonic() + 60
    while not any(
        p.name.startswith(".tamis-") and p.stat().st_size == size for p in folder.iterdir()
    ):
        if running.poll() is not None or time.monotonic() > deadline:
            running.kill()
            pytest.fail(f"no temporary file of {size} bytes appeared")
        time.sleep(0.01)
    assert not (folder / "out.safetensors").exists()
    return running


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_ctrl_c_during_the_writing_leaves_the_whole_file_and_no_temporary(trace, tmp_path, number):
    folder = tmp_path / "results"
    running = while_writing(trace, folder, 1)
    running.send_signal(number)
    shown, errors = running.communicate(timeout=60)
    assert running.returncode == -number and shown == errors == b""
    assert [p.name for p in folder.iterdir()] == ["out.safetensors"]
    assert digest(folder / "out.safetensors") == digest(tmp_path / "expected")


def test_a_second_signal_of_either_kind_ends_the_program_at_once(trace, tmp_path):
    running = while_writing(trace, tmp_path / "results", 100)
    running.send_signal(signal.SIGINT)
    time.sleep(0.2)
    assert running.poll() is None
    running.send_signal(signal.SIGTERM)
    running.communicate(timeout=10)
    assert running.returncode == -signal.SIGTERM
    assert not (tmp_path / "results" / "out.safetensors").exists()


def test_a_signal_that_was_ignored_from_the_start_stays_ignored(trace, tmp_path):
    running = while_writing(
        trace,
        tmp_path / "results",
        1,
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_IGN),
    )
    running.send_signal(signal.SIGINT)
    _, errors = running.communicate(timeout=60)
    assert running.returncode == 0 and errors == b""
    assert (tmp_path / "results" / "out.safetensors").exists()


def test_progress_is_shown_on_a_terminal_and_nowhere_else(slow_trace, tmp_path):
    out = tmp_path / "out.safetensors"
    ours, theirs = pty.openpty()
    running = subprocess.Popen(
        slow_command(slow_trace, out), stdout=subprocess.DEVNULL, stderr=theirs
    )
    os.close(theirs)
    shown = os.read(ours, 4096).decode()
    while not ("check" in shown and "left" in shown):
        shown += os.read(ours, 4096).decode()
    running.terminate()
    running.wait(timeout=60)
    os.close(ours)
    assert "%, about " in shown and "attention" not in shown.split("left")[0].split("\r")[-1]
    assert tamis("attend", DATA, "--dense", "--check").stderr == ""
