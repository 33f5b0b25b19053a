"""Patterns and witnesses for the tests of verify, realise and frontier, checked with NumPy."""

import numpy as np


def save_pattern(path, matrix):
    np.save(path, np.asarray(matrix, np.float64))
    return path


def margins(a, logits, eps1=0.1, eps2=1.0, causal=False, weak=False):
    """The least slack of each row, in f64."""
    result = []
    for i, (values, row) in enumerate(zip(a, logits, strict=True)):
        seen = slice(0, i + 1 if causal else len(row))
        one, level = values[seen] > 0, row[seen].astype(np.float64)
        slack = np.inf
        if (~one).any():
            slack = (0 if weak else np.log(eps1)) - (level[~one].max() - level[one].min())
        if one.sum() > 1 and not weak:
            spread = level[one] - np.log(values[seen][one])
            slack = min(slack, eps2 - (spread.max() - spread.min()))
        result.append(slack)
    return np.array(result)


def cycles(n, seed, gamma=2.0, causal=False):
    """Two nonzeros in every row and column; if causal, the diagonal and the column before it."""
    random = np.random.default_rng(seed)
    first = np.arange(n) if causal else random.permutation(n)
    second = random.integers(0, np.maximum(np.arange(n), 1)) if causal else np.roll(first, 1)
    a = np.zeros((n, n))
    a[np.arange(n), first] = 1
    a[np.arange(n), second] = np.where(random.random(n) < 0.5, 1, gamma)
    return a
