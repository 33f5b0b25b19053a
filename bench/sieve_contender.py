"""tamis' sparse attention through its C ABI, and the checks of what it certifies."""

import ctypes
import sys

import numpy as np
from tamis_c import Budget, Certificate, SieveOptions, Workspace, address


def spread(values):
    return {"median": float(np.median(values)), "max": float(np.max(values))}


def bits(array):
    return array.view(np.uint32)


class Sieve:
    """tamis_attend with one budget for all heads. `dense` lends its shape and page tables, and its bits
    for comparison."""

    owner = "tamis"
    layout = ""

    def __init__(self, index, dense, budget, ladder, threads):
        library = index.native
        self.name = f"tamis {budget}" + ("" if ladder else ", ladder off")
        self.native, self.index, self.dense = library, index, dense
        self.budget = Budget()
        library.call(library.c.tamis_budget_parse, budget.encode(), ctypes.byref(self.budget))
        self.eps = self.budget.eps if budget.startswith("mass:") else 1.0
        self.options = SieveOptions(ctypes.sizeof(SieveOptions), no_ladder=int(not ladder))
        self.out, self.lse = np.empty_like(dense.out), np.empty_like(dense.lse)
        rows = self.lse.size
        self.certificates = (Certificate * rows)()
        self.workspace = Workspace(library, threads)
        self.recorded, self.relative_errors = [], []

    def set_q(self, q):
        self.q = q
        self.arguments = (
            self.index.handle,
            ctypes.addressof(self.dense.shape),
            address(q),
            ctypes.addressof(self.dense.pages.kv),
            None,
            ctypes.addressof(self.budget),
            1,
            ctypes.addressof(self.options),
            self.workspace.handle,
            address(self.out),
            address(self.lse),
            ctypes.addressof(self.certificates),
        )

    def run(self):
        self.native.call(self.native.c.tamis_attend, *self.arguments)

    def fail(self, what):
        sys.exit(f"{self.name} {what}; no result was written")

    def certified(self):
        """The certificates of the last run, checked against the budget."""
        now = np.ctypeslib.as_array(self.certificates).copy()
        if not np.all(now["tau"] <= self.eps):
            self.fail(f"certifies a tau of {now['tau'].max():.4g}, which is above its budget")
        return now

    def record(self):
        self.recorded.append(self.certified())

    def compare(self, exact):
        """Compares a run and everything it certifies with f64, and with dense's bits where the certificate
        says dense. A second run notes the weights used."""
        self.run()
        out = self.out.copy()
        weights = np.zeros(exact.weights.shape, np.float32)
        self.options.weights, self.options.weights_cols = weights.ctypes.data, weights.shape[-1]
        self.run()
        self.options.weights, self.options.weights_cols = None, 0
        if not np.array_equal(bits(out), bits(self.out)):
            self.fail("gives other bits when it notes the weights")
        now = self.certified().reshape(self.lse.shape)
        used = weights / weights.sum(axis=-1, keepdims=True, dtype=np.float64)
        error = np.linalg.norm(self.out - exact.out, axis=-1)
        for what, true in (
            ("tau", np.abs(used - exact.weights).sum(axis=-1) / 2),
            ("error", error),
            ("lse_error", np.abs(self.lse - exact.lse)),
        ):
            if not np.all(true <= now[what]):
                row = np.unravel_index(np.argmax(true - now[what]), true.shape)
                self.fail(f"certifies {what} ≤ {now[what][row]:.6g} where it is {true[row]:.6g}")
        says = now["dense"] != 0
        if not np.array_equal(bits(out[says]), bits(self.dense.out[says])):
            self.fail("says that it computed densely, but its bits are not dense's")
        self.relative_errors += list((error / np.linalg.norm(exact.out, axis=-1)).ravel())

    def summary(self):
        """Of all recorded runs: tau per row; bytes and fallbacks per step, bytes as a share of K and V."""
        now = np.stack(self.recorded)
        kv_heads = self.dense.shape.kv_heads
        # The rows of one KV head hold the same counts.
        shared = now.reshape(len(now), kv_heads, -1)[:, :, 0]
        read = sum(shared[f"{mesh}_bytes"].sum(axis=1) for mesh in ("coarse", "middle", "exact"))
        whole = sum(x.nbytes for x in self.dense.pages.arrays)
        return {
            "tau": spread(now["tau"]),
            "bytes_share": spread(read / whole),
            "dense_share": float((now["dense"] != 0).mean()),
            "relative_error": spread(self.relative_errors),
        }
