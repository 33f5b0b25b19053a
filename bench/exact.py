"""Attention in f64, and how far a correct contender may be from it, derived from its arithmetic.

Write w for the exact weights of a row, A = Σ w_j |v_j| for each output component. These errors
add up:
  logits   Computed in f32, they err by at most δ = u32·((d + 2)·Σ|q_i k_i|·scale + 2·range +
           8). The last terms, in which range is that of the logits, are for the exponential and
           its argument. All weights then have a relative error of at most e^{2δ} − 1.
  weights  Rounding them to a shorter type before they multiply v adds `weights`·A.
  sum      A sum of n terms in f32 adds n·u32·A, and that of the normaliser as much again. In a
           shorter type of unit roundoff u, adding term j errs by at most u·A, and by no more
           than the term itself, since the old sum is representable. Each rescaling at a new
           maximum errs by u·A. Together this is Σ_{w_j < u} w_j |v_j| + (#{w_j ≥ u} +
           rescalings)·u·A.
  store    Storing the output adds `output`·|out|.
"""

from dataclasses import dataclass

import numpy as np

F32 = 2.0**-24
F16 = 2.0**-11
BF16 = 2.0**-8


@dataclass(frozen=True)
class Arithmetic:
    """Unit roundoffs of a contender where they differ from f32's."""

    accumulator: float = F32
    weights: float = 0.0
    output: float = F32


def new_maxima(logits):
    """Returns how often the running maximum along each row rises, the first key included."""
    running = np.maximum.accumulate(logits, axis=1)
    return (running[:, 1:] > running[:, :-1]).sum(axis=1) + 1


class Exact:
    """Attention of chosen rows in f64: q [heads, rows, d] over k, v [kv_heads, n, d].

    Row i sees keys 0 … seen[i] − 1. `parts` is the largest number of pieces into which a
    contender cuts the keys, each with its own maximum.
    """

    def __init__(self, q, k, v, seen, scale, parts):
        heads, rows, d = q.shape
        kv_heads, n, _ = k.shape
        group = heads // kv_heads
        self.out = np.empty((heads, rows, d))
        self.lse = np.empty((heads, rows))
        self.absolute = np.empty_like(self.out)  # A
        self.small = np.empty_like(self.out)  # Σ_{w_j < u} w_j |v_j| for u of f16
        self.large = np.empty((heads, rows, 1))  # #{w_j ≥ u} + rescalings
        self.delta = np.empty((heads, rows, 1))
        self.n = n
        seen = np.asarray(seen)
        hidden = np.arange(n)[None, :] >= np.tile(seen, group)[:, None]
        for h in range(kv_heads):
            mine = slice(h * group, (h + 1) * group)
            queries = q[mine].reshape(-1, d).astype(np.float64)
            keys, values = k[h].astype(np.float64), v[h].astype(np.float64)
            logits = queries @ keys.T * scale
            size = np.abs(queries) @ np.abs(keys).T * scale
            bound = F32 * ((d + 2) * size.max(axis=1) + 2 * np.ptp(logits, axis=1) + 8)
            logits[hidden] = -np.inf
            top = logits.max(axis=1, keepdims=True)
            w = np.exp(logits - top)
            total = w.sum(axis=1, keepdims=True)
            w /= total

            shape = (group, rows, d)
            self.lse[mine] = (top + np.log(total)).reshape(group, rows)
            self.out[mine] = (w @ values).reshape(shape)
            np.abs(values, out=values)
            self.absolute[mine] = (w @ values).reshape(shape)
            self.small[mine] = (np.where(w < F16, w, 0) @ values).reshape(shape)
            rescalings = sum(new_maxima(part) for part in np.array_split(logits, parts, axis=1))
            self.large[mine] = ((w >= F16).sum(axis=1) + rescalings).reshape(group, rows, 1)
            self.delta[mine] = bound.reshape(group, rows, 1)

    def tolerance(self, arithmetic):
        relative = np.expm1(2 * self.delta) + arithmetic.weights + 2 * self.n * F32
        total = relative * self.absolute + arithmetic.output * np.abs(self.out)
        if arithmetic.accumulator > F32:
            assert arithmetic.accumulator == F16, (
                "the sets of small and large weights are those of f16"
            )
            total += self.small + self.large * F16 * self.absolute
        return total

    def fault(self, out, arithmetic):
        """Returns None if `out` is exact attention up to the contender's rounding, else what is
        wrong, in words."""
        if out.shape != self.out.shape:
            return f"has shape {out.shape} instead of {self.out.shape}"
        error, allowed = np.abs(out - self.out), self.tolerance(arithmetic)
        wrong = ~(error <= allowed)  # NaN is wrong
        if not wrong.any():
            return None
        head, row, i = np.unravel_index(
            np.argmax(np.where(wrong, error - allowed, -1)), wrong.shape
        )
        return (
            f"is wrong: head {head}, row {row}, component {i} is {out[head, row, i]:.9g}, "
            f"exact {self.out[head, row, i]:.9g}, and rounding explains {allowed[head, row, i]:.3g} at most"
        )

    def telling(self, arithmetic):
        """Returns the share of heads for which the tolerance would reject the output of another
        head."""
        wrong = np.abs(np.roll(self.out, 1, axis=0) - self.out) > self.tolerance(arithmetic)
        return float(wrong.any(axis=(1, 2)).mean())
