#!/usr/bin/env python3
"""Times sparse decode from a cache in planes against torch, ggml and dense tamis over bf16: `make
bench-sieve` runs this.

Steps take their queries in turn from a sequence, as decoding does; some are checked against f64
(sieve_report.METHOD describes how). Takes about eight minutes; `--quick` takes well under one
and only proves that everything runs. `--parent` times the libtamis.so of another commit, with
the same C ABI, in the same turns.
"""

import os
import statistics
import sys
from ctypes import c_int64
from pathlib import Path

os.environ["OPENBLAS_NUM_THREADS"] = "1"  # numpy, for the reference only, needs no thread pool

import contenders
import harness
import memory
import numpy as np
import report
import sieve_data
import sieve_report
import torch
from exact import Exact
from sieve_contender import Sieve
from tamis_c import Cache, Library, Workspace

# The heads of Llama-3-8B; the same at half the head size; those of SmolLM2-135M; a quarter of
# those of Llama-2-7B, which share no keys.
SHAPES = [
    sieve_data.Shape(32, 8, 128),
    sieve_data.Shape(32, 8, 64),
    sieve_data.Shape(9, 3, 64),
    sieve_data.Shape(8, 8, 128),
]
# The budget, the bits of the cache, and what is preferred where there is a choice.
WAYS = [("mass:0.05", 12, "time"), ("mass:0.05", 12, "bytes"), ("mass:0.01", 16, "time")]
BITS = [12, 16]
QUANTISED = ["q8_0", "q4_0"]  # the types of llama.cpp's quantised caches
LAYOUTS = ["grouped-query", "folded"]
CHECKED = 2  # steps compared with f64
BATCH_LONGEST = 32768  # tokens; the shortest sequence of a batch has 1/32 of it
APPENDED = 1024  # tokens appended alone: 8 blocks, to include coding


def arguments():
    parser = harness.parser(__doc__)
    parser.add_argument("--keys", type=int, nargs="+", help="numbers of keys (default 8192 65536)")
    parser.add_argument("--dims", type=int, nargs="+", help="head sizes (default 128 64)")
    parser.add_argument(
        "--data", nargs="+", choices=sieve_data.FAMILIES, help="families (default: all)"
    )
    parser.add_argument(
        "--repeats", type=int, help=f"of each case (default {sieve_data.STEPS}, one for every step)"
    )
    parser.add_argument("--parent", type=Path, help="another libtamis.so, timed beside this one")
    families = list(sieve_data.FAMILIES)
    return harness.parse(
        parser,
        full={
            "keys": [8192, 65536],
            "dims": [128, 64],
            "data": families,
            "repeats": sieve_data.STEPS,
        },
        quick={"keys": [2048], "dims": [128, 64], "data": families, "repeats": 3},
    )


def filled(library, shape, k, v, bits):
    """Returns a cache that holds all of k and v."""
    cache = Cache(library, shape, bits)
    cache.append(k, v, 0, k.shape[1], Workspace(library, 1))
    return cache


def make_contenders(loaded, inputs, caches, quantised, shape, threads):
    torch.set_num_threads(threads)
    q = inputs.q[0]
    outside = [contenders.Torch("bf16", q, *inputs.kv["bf16"], shape.scale, "folded")]
    outside += [
        contenders.Ggml(loaded["ggml"], "f16", q, *inputs.kv["f16"], shape.scale, layout, threads)
        for layout in LAYOUTS
    ]
    lossy = [
        contenders.Ggml(loaded["ggml"], dtype, q, *kv, shape.scale, layout, threads)
        for dtype, kv in quantised.items()
        for layout in LAYOUTS
    ]
    dense = contenders.Tamis(loaded["tamis"], "bf16", q, *inputs.kv["bf16"], shape.scale, threads)
    dense.name = "tamis dense"
    sieves = [
        Sieve(caches[name, bits], bits, budget, threads, name, prefer)
        for budget, bits, prefer in WAYS
        for name in ("tamis", "parent")
        if (name, bits) in caches
    ]
    return outside, lossy, dense, sieves


def summary_of(contender):
    """What is reported of a contender besides its time."""
    if isinstance(contender, Sieve):
        return contender.summary()
    if not getattr(contender, "relative_errors", None):
        return {}
    k = contender.keep[0]
    return {
        "bytes_share": {"median": k.shape[-1] / (2 * contender.shape[-1])},
        "relative_error": {"median": float(np.median(contender.relative_errors))},
    }


def measure(family, machine, loaded, options, shape, n):
    """Measures one family of data, shape and length with every number of threads."""
    inputs = sieve_data.FAMILIES[family](shape, n)
    caches = {
        (name, bits): filled(loaded[name], shape, *inputs.kv["bf16"], bits)
        for name in ("tamis", "parent")
        if name in loaded
        for bits in BITS
    }
    quantised = {
        dtype: [contenders.Ggml.quantised(loaded["ggml"], dtype, x) for x in inputs.kv["f32"]]
        for dtype in QUANTISED
    }
    exacts = [
        Exact(q, *inputs.kv["f32"], [n], shape.scale, parts=max(options.threads))
        for q in inputs.q[: min(CHECKED, options.repeats)]
    ]
    for threads in options.threads:
        machine.unpin()
        outside, lossy, dense, sieves = make_contenders(
            loaded, inputs, caches, quantised, shape, threads
        )
        made = [*outside, *lossy, dense, *sieves]
        for q, exact in zip(inputs.q, exacts, strict=False):
            for contender in made:
                contender.set_q(q)
            tell = 0.0 if family in sieve_data.WORST_CASES else 0.5
            harness.check([*outside, dense], exact, [0], tell)
            for contender in (*lossy, *sieves):
                contender.compare(exact)
        machine.pin(threads)
        times = harness.interleave(
            machine,
            made,
            options.repeats,
            seed=n,
            before=lambda contender, repeat: contender.set_q(inputs.q[repeat % len(inputs.q)]),
            after=lambda contender, repeat: (
                contender.record() if isinstance(contender, Sieve) else None
            ),
        )
        results = [
            {
                "name": contender.name,
                "owner": contender.owner,
                "layout": contender.layout,
                **report.summary(seconds),
                **summary_of(contender),
            }
            for contender, seconds in zip(made, times, strict=True)
        ]
        sieve_report.add_ratios(results, dense.name)
        case = {"data": family, "shape": str(shape), "d": shape.d, "n": n, "threads": threads}
        yield {**case, "huge_share": memory.huge_share(), "results": results}


class Fill:
    """Fills a new cache with all tokens. The time includes the allocation of its memory."""

    def __init__(self, library, shape, k, v, bits, threads):
        self.native, self.shape, self.kv, self.bits = library, shape, (k, v), bits
        self.workspace = Workspace(library, threads)
        self.cache = None

    def forget(self):
        self.cache = None

    def run(self):
        self.cache = Cache(self.native, self.shape, self.bits)
        self.cache.append(*self.kv, 0, self.kv[0].shape[1], self.workspace)


def appends(machine, library, shape, k, v, bits):
    """Returns the seconds of each append of one token of all heads to a long sequence."""
    n = k.shape[1]
    workspace = Workspace(library, 1)
    cache = Cache(library, shape, bits)
    first = n - min(APPENDED, n // 2)
    cache.append(k, v, 0, first, workspace)
    rows = [cache.rows_of(k, v, t) for t in range(first, n)]
    one = (c_int64 * 1)(1)
    machine.settle()
    return [harness.seconds_of(lambda at=at: cache.append_rows(*at, one, workspace)) for at in rows]


def cache_cost(machine, loaded, options, shape, inputs, bits, bandwidth):
    """Measures what a cache costs: its memory, the time to fill it compared with reading keys and
    values once, and appending."""
    k, v = inputs.kv["bf16"]
    costs = []
    for threads in options.threads:
        machine.unpin()
        fill = Fill(loaded["tamis"], shape, k, v, bits, threads)
        fill.run()  # starts threads and lets scratch memory grow
        fill.forget()
        before = memory.resident()
        fill.run()
        grown = (memory.resident() - before) / (k.nbytes + v.nbytes)
        machine.pin(threads)
        (times,) = harness.interleave(
            machine,
            [fill],
            max(3, options.repeats // 2),
            seed=bits,
            before=lambda contender, _: contender.forget(),
        )
        filled_in = report.summary(times)["ms"]
        share = fill.cache.bytes() / (k.nbytes + v.nbytes)
        read_ms = (k.nbytes + v.nbytes) / bandwidth[threads] * 1e3
        one_by_one = appends(machine, loaded["tamis"], shape, k, v, bits)
        costs.append(
            {
                "d": shape.d,
                "kv_heads": shape.kv_heads,
                "n": k.shape[1],
                "bits": bits,
                "threads": threads,
                "share": share,
                "grown": grown,
                "fill_ms": filled_in,
                "read_ms": read_ms,
                "append_us": statistics.mean(one_by_one) / shape.kv_heads * 1e6,
                "longest_append_us": max(one_by_one) * 1e6,
            }
        )
    return costs


class OneByOne:
    """Runs a step of a batch with one call for each sequence."""

    def __init__(self, calls):
        self.calls = calls

    def run(self):
        for call in self.calls:
            call.run()


def batch_cost(machine, loaded, options, shape):
    """Measures a step of sixteen sequences of unequal length, in one call and in one call for
    each."""
    longest = min(BATCH_LONGEST, max(options.keys))
    lengths = [round(longest * 32 ** (i / 15 - 1)) for i in range(16)]
    inputs = sieve_data.FAMILIES["real-like"](shape, longest)
    k, v = inputs.kv["bf16"]
    budget, bits, _ = WAYS[0]
    cache = Cache(loaded["tamis"], shape, bits, len(lengths))
    for name, length in enumerate(lengths):
        cache.append(k, v, longest - length, length, Workspace(loaded["tamis"], 1), name)
    queries = np.ascontiguousarray(inputs.q[: len(lengths)].reshape(-1, 1, shape.d))
    costs = []
    for threads in options.threads:
        machine.unpin()
        whole = Sieve(cache, bits, budget, threads, sequences=range(len(lengths)))
        whole.set_q(queries)
        calls = [
            Sieve(cache, bits, budget, threads, sequences=(name,)) for name in range(len(lengths))
        ]
        for name, call in enumerate(calls):
            call.set_q(queries[name * shape.heads : (name + 1) * shape.heads])
        one_by_one = OneByOne(calls)
        for made in (whole, one_by_one):
            made.run()
        if not np.array_equal(whole.out, np.concatenate([call.out for call in calls])):
            sys.exit("a sequence's bits depend on its batch; no result was written")
        machine.pin(threads)
        times = harness.interleave(machine, [whole, one_by_one], options.repeats, seed=bits)
        whole_ms, single_ms = (report.summary(seconds)["ms"] for seconds in times)
        costs.append(
            {
                "shape": str(shape),
                "threads": threads,
                "batch_ms": whole_ms,
                "one_by_one_ms": single_ms,
            }
        )
    return costs


def main():
    options = arguments()
    machine, loaded, described = harness.start(options)
    if options.parent:
        loaded["parent"] = Library(options.parent.resolve())
    bandwidth = dict.fromkeys(options.threads, 0.0)
    cases, costs, batches = [], [], []
    for shape in (s for s in SHAPES if s.d in options.dims):
        harness.raise_bandwidth(machine, options, bandwidth)
        for n in options.keys:
            for family in options.data:
                print(f"decode, {family}: {shape}, n = {n}", file=sys.stderr, flush=True)
                cases += measure(family, machine, loaded, options, shape, n)
        if shape not in SHAPES[:2]:
            continue  # the first two shapes suffice for the costs of a cache
        batches += batch_cost(machine, loaded, options, shape)
        print(f"cache: {shape}, n = {n}", file=sys.stderr, flush=True)
        inputs = sieve_data.FAMILIES["real-like"](shape, n)
        for bits in BITS:
            costs += cache_cost(machine, loaded, options, shape, inputs, bits, bandwidth)
    run = {
        "command": harness.command("bench-sieve"),
        "machine": described,
        "bandwidth": bandwidth,
        "method": sieve_report.METHOD.replace("\n", " "),
        "data": sieve_data.description(),
        "cases": cases,
        "cache": costs,
        "batches": batches,
    }
    run["verdicts"] = [] if options.quick else sieve_report.verdicts(run, sieve_data.WORST_CASES)
    name = "-".join(["sieve", *filter(None, [os.environ.get("TAMIS_TARGET")])])
    report.publish(run, options, name, "Sparse decode and its cache", sieve_report.sections(run))


if __name__ == "__main__":
    main()
