"""Attention of tamis over a cache in planes through the C ABI, and the checks of its
certificates."""

import ctypes
import sys
from ctypes import byref, c_size_t, sizeof

import numpy as np
from tamis_c import DTYPES, AttendOptions, Budget, Certificate, Queries, Results, Workspace


def spread(values):
    return {"median": float(np.median(values)), "p90": float(np.quantile(values, 0.9))}


class Sieve:
    """tamis_attend with one budget for all heads and one query of each sequence in a step."""

    owner = "tamis"
    layout = ""

    def __init__(self, cache, bits, budget, threads, name="tamis", prefer="time", sequences=(0,)):
        library = cache.native
        heads, d = cache.heads.query_heads, cache.heads.value_dim
        self.name = f"{name} {budget}, {bits} bits" + ("" if prefer == "time" else ", fewer bytes")
        self.native, self.cache, self.heads = library, cache, cache.heads
        self.budget = Budget()
        library.call(library.c.tamis_budget_parse, budget.encode(), byref(self.budget))
        self.options = AttendOptions(sizeof(AttendOptions), prefer=int(prefer == "time"))
        self.workspace = Workspace(library, threads)
        self.out = np.empty((heads * len(sequences), 1, d), np.float32)
        self.lse = np.empty((heads * len(sequences), 1), np.float32)
        self.certificates = (Certificate * self.lse.size)()
        self.results = Results(
            sizeof(Results),
            self.out.ctypes.data,
            DTYPES["f32"],
            0,
            heads * d,
            d,
            self.lse.ctypes.data,
            ctypes.addressof(self.certificates),
            sizeof(Certificate),
        )
        self.plan = cache.plan(sequences)
        self.recorded, self.relative_errors = [], []

    def __del__(self):
        if getattr(self, "plan", None):
            self.native.c.tamis_plan_free(self.plan)

    def set_q(self, q):
        """Sets q [query_heads, 1, d], with the heads of each sequence one after the other."""
        heads, d = self.heads.query_heads, q.shape[-1]
        self.q = q
        self.queries = Queries(sizeof(Queries), q.ctypes.data, DTYPES["f32"], 0, heads * d, d)

    def run(self):
        self.native.call(
            self.native.c.tamis_attend,
            self.cache.handle,
            self.plan,
            byref(self.queries),
            byref(self.budget),
            c_size_t(1),
            byref(self.options),
            self.workspace.handle,
            byref(self.results),
        )

    def record(self):
        """Keeps the certificates of the last run for `summary`."""
        self.recorded.append(np.ctypeslib.as_array(self.certificates).copy())

    def compare(self, exact):
        """Runs once and compares the output and its certificates with f64."""
        self.run()
        now = np.ctypeslib.as_array(self.certificates).reshape(self.lse.shape)
        error = np.linalg.norm(self.out - exact.out, axis=-1)
        for what, true in (("error", error), ("lse_error", np.abs(self.lse - exact.lse))):
            if not np.all(true <= now[what]):
                row = np.unravel_index(np.argmax(true - now[what]), true.shape)
                sys.exit(
                    f"{self.name} certifies {what} ≤ {now[what][row]:.6g} where it is {true[row]:.6g}; "
                    "no result was written"
                )
        self.relative_errors += list((error / np.linalg.norm(exact.out, axis=-1)).ravel())

    def summary(self):
        """Returns, over all recorded runs, tau per row and bytes per step as a share of bf16 K and
        V."""
        now = np.stack(self.recorded)
        # All rows of one KV head hold the same counts.
        shared = now.reshape(len(now), self.heads.kv_heads, -1)[:, :, 0]
        return {
            "tau": spread(now["tau"]),
            "bytes_share": spread(shared["bytes"].sum(axis=1) / shared["dense_bytes"].sum(axis=1)),
            "reached": float((now["reached"] == 0).mean()),
            "relative_error": spread(self.relative_errors),
        }
