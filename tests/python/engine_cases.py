"""Keys, values and queries for tests of the engine, and exact attention over them."""

import ml_dtypes
import numpy as np
import tamis
from conftest import DTYPES

BF16 = ml_dtypes.bfloat16


def numbers(seed, shape, dtype="f32", spread=1.0):
    """Random numbers; keys that lie along one direction make attention uneven, as models do."""
    random = np.random.default_rng(seed)
    return (spread * random.standard_normal(shape)).astype(DTYPES[dtype])


def case(seed, tokens, queries=1, kv_heads=2, group=2, dim=32, value_dim=24, dtype="f32"):
    """q [heads, queries, dim], k and v [KV heads, tokens, …]."""
    q = numbers(seed, (kv_heads * group, queries, dim), spread=2)
    k = numbers(seed + 1, (kv_heads, tokens, dim), dtype)
    v = numbers(seed + 2, (kv_heads, tokens, value_dim), dtype)
    return q, k, v


class Exact:
    """Attention in f64, query by query, with bounds on what its own rounding may do."""

    def __init__(self, q, k, v, seen=None, scale=None):
        q, k, v = (np.asarray(x).astype(np.float64) for x in (q, k, v))
        heads, queries, dim = q.shape
        tokens = k.shape[1]
        seen = np.full(queries, tokens) if seen is None else np.asarray(seen).reshape(-1)
        # The engine has the scale as f32.
        scale = float(np.float32(1 / np.sqrt(dim) if scale is None else scale))
        self.out = np.zeros((heads, queries, v.shape[2]))
        self.lse = np.full((heads, queries), -np.inf)
        self.weights = np.zeros((heads, queries, tokens))
        for h in range(heads):
            kv = h * k.shape[0] // heads
            for i, n in enumerate(seen):
                if n == 0:
                    continue
                logits = scale * (k[kv, :n] @ q[h, i])
                peak = logits.max()
                weights = np.exp(logits - peak)
                self.lse[h, i] = peak + np.log(weights.sum())
                self.weights[h, i, :n] = weights / weights.sum()
                self.out[h, i] = self.weights[h, i, :n] @ v[kv, :n]
        # A logit meets dim + 2 roundings and is at most Λ; a weight and its sums tokens + 4 more.
        u = 2.0**-53
        norms = [np.linalg.norm(x, axis=-1).max(initial=0) for x in (q, k, v)]
        logit = (dim + 2) * u * abs(scale) * norms[0] * norms[1]
        self.lse_slack = 4 * (logit + (tokens + 4) * u * (1 + abs(scale) * norms[0] * norms[1]))
        self.slack = 4 * norms[2] * (logit + (tokens + 4) * u)


def expect_proved(found, exact, layout="HTD"):
    """What was found lies within what its certificates prove."""
    out, lse, proofs = (np.asarray(x) for x in (found.out, found.lse, found.certificates))
    if layout == "THD":
        out, lse, proofs = out.swapaxes(0, 1), lse.T, proofs.T
    distance = np.linalg.norm(out.astype(np.float64) - exact.out, axis=-1)
    assert (distance <= proofs["error"] + exact.slack).all()
    empty = np.isneginf(exact.lse)
    np.testing.assert_array_equal(np.isneginf(lse), empty)
    off = np.abs(lse[~empty].astype(np.float64) - exact.lse[~empty])
    assert (off <= proofs["lse_error"][~empty] + exact.lse_slack).all()


def same_bits(a, b):
    """Two results, or two arrays, are equal in every bit."""
    if isinstance(a, tamis.Attention):
        same_bits(a.out, b.out)
        same_bits(a.lse, b.lse)
        if a.certificates is not None:
            same_bits(a.certificates, b.certificates)
        return
    assert (a.shape, a.dtype) == (b.shape, b.dtype)
    if a.dtype.names:  # between the fields there are bytes without meaning
        for name in a.dtype.names:
            same_bits(a[name], b[name])
        return
    assert a.tobytes() == b.tobytes()


def filled(k, v, **options):
    """A cache with these keys and values as its sequence 0."""
    options = {"query_heads": 2 * k.shape[0], "dtype": "f32"} | options
    cache = tamis.Cache(kv_heads=k.shape[0], key_dim=k.shape[2], value_dim=v.shape[2], **options)
    cache.append(k, v)
    return cache
