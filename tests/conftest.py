"""The program under test, and small traces for it."""

import hashlib
import os
import signal
import subprocess
from pathlib import Path

import ml_dtypes
import numpy as np
import pytest
from safetensors.numpy import save_file

ROOT = Path(__file__).resolve().parents[1]
DATA = ROOT / "data" / "smollm2-kjv-8k-small.safetensors"
DTYPES = {"f16": np.float16, "bf16": ml_dtypes.bfloat16, "f32": np.float32}


def pytest_configure(config):
    if not os.environ.get("TAMIS_PROGRAM"):
        raise pytest.UsageError("TAMIS_PROGRAM is not set; give the path of the program tamis")
    # A background job may have been started with Ctrl-C ignored, and its children would
    # ignore it too.
    if signal.getsignal(signal.SIGINT) == signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)


def program():
    return str(Path(os.environ["TAMIS_PROGRAM"]).resolve())


def tamis(*args, status=0, cwd=ROOT, **options):
    """Runs the program and returns the completed process; its exit status must be `status`."""
    done = subprocess.run(
        [program(), *map(str, args)],
        capture_output=True,
        text=True,
        cwd=cwd,
        timeout=120,
        check=False,
        **options,
    )
    assert done.returncode == status, f"exit {done.returncode}: {done.stderr or done.stdout}"
    return done


def sentence_of(done):
    """The one line on standard error, which must be a sentence of ours and nothing else."""
    assert done.stdout == ""
    assert done.stderr.startswith("tamis: ") and done.stderr.count("\n") == 1, done.stderr
    return done.stderr.removeprefix("tamis: ").rstrip("\n")


def sanitized():
    """Sanitizers must be loaded first and map terabytes of shadow memory."""
    return (
        "san.so"
        in subprocess.run(["ldd", program()], capture_output=True, text=True, check=True).stdout
    )


def make_tensors(
    layers, tokens=200, queries=5, kv_heads=2, group=3, dim=16, value_dim=16, dtype="f16", seed=1
):
    """Random queries, keys and values, and positions that include the first and the last token."""
    random = np.random.default_rng(seed)
    places = np.linspace(0, tokens - 1, queries).astype(np.int64)
    tensors = {"positions": places}
    for layer in layers:
        for name, shape in (
            ("q", (kv_heads * group, queries, dim)),
            ("k", (kv_heads, tokens, dim)),
            ("v", (kv_heads, tokens, value_dim)),
        ):
            tensors[f"layers.{layer}.{name}"] = (2 * random.standard_normal(shape)).astype(
                DTYPES[dtype]
            )
    return tensors


def save_trace(path, tensors, causal=True, scale="0.25"):
    save_file(tensors, path, {"scale": scale, "causal": "true" if causal else "false"})
    return path


def exact_attention(tensors, layer, causal, scale):
    """Attention in f64 with NumPy: outputs [heads, queries, d], log-sum-exp [heads, queries] and
    weights [heads, queries, tokens]."""
    q, k, v = (tensors[f"layers.{layer}.{name}"].astype(np.float64) for name in "qkv")
    group = q.shape[0] // k.shape[0]
    k, v = np.repeat(k, group, axis=0), np.repeat(v, group, axis=0)
    logits = scale * np.einsum("hqd,htd->hqt", q, k)
    if causal:
        hidden = np.arange(k.shape[1])[None, :] > tensors["positions"][:, None]
        logits = np.where(hidden[None], -np.inf, logits)
    peak = logits.max(axis=-1, keepdims=True)
    weights = np.exp(logits - peak)
    total = weights.sum(axis=-1, keepdims=True)
    weights /= total
    return weights @ v, (peak + np.log(total))[..., 0], weights


def digest(path):
    return hashlib.sha256(Path(path).read_bytes()).hexdigest()


@pytest.fixture
def trace(tmp_path):
    return save_trace(tmp_path / "small.safetensors", make_tensors([3, 7]))
