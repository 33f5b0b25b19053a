#!/usr/bin/env python3
"""Times sparse decode against torch, ggml and dense tamis, and what its index costs: `make bench-sieve`.

Steps take their queries in turn from a sequence, as decoding does; every certificate is checked, and some
steps against f64 (sieve_report.METHOD says how). About fifteen minutes; `--quick` takes well under one and
proves only that everything runs.
"""

import os
import sys

os.environ["OPENBLAS_NUM_THREADS"] = "1"  # numpy's, used for the reference only: one thread pool less

import contenders
import harness
import memory
import report
import sieve_data
import sieve_report
import torch
from exact import Exact
from sieve_contender import Sieve
from sieve_costs import index_cost
from sieve_probe import Probe
from sieve_stages import add_limits, step_stages
from tamis_c import Index, Pages, Workspace

# Llama-3-8B's heads; the same at half the head size; SmolLM2-135M's; a quarter of Llama-2-7B's, which share no keys.
SHAPES = [
    sieve_data.Shape(32, 8, 128),
    sieve_data.Shape(32, 8, 64),
    sieve_data.Shape(9, 3, 64),
    sieve_data.Shape(8, 8, 128),
]
# Budget and ladder.
BUDGETS = [("mass:0.05", True), ("mass:0.01", True), ("mass:0.05", False), ("bytes:0.25", True)]
# Families whose step is taken apart at the longest context: where sparse reading pays, and where not.
STAGED = ["real-like", "law", "gaussian σ = 1"]
CHECKED = 2  # steps compared with f64


def arguments():
    parser = harness.parser(__doc__)
    parser.add_argument("--keys", type=int, nargs="+", help="numbers of keys (default 8192 32768 65536)")
    parser.add_argument("--dims", type=int, nargs="+", help="head sizes (default 128 64)")
    parser.add_argument("--data", nargs="+", choices=sieve_data.FAMILIES, help="families (default: all)")
    parser.add_argument(
        "--repeats", type=int, help=f"of each case (default {sieve_data.STEPS}, one for every step)"
    )
    return harness.parse(
        parser,
        full={
            "keys": [8192, 32768, 65536],
            "dims": [128, 64],
            "data": list(sieve_data.FAMILIES),
            "repeats": sieve_data.STEPS,
        },
        quick={"keys": [2048], "dims": [128, 64], "data": list(sieve_data.FAMILIES), "repeats": 3},
    )


def make_contenders(loaded, inputs, index, scale, threads):
    torch.set_num_threads(threads)
    q = inputs.q[0]
    outside = [contenders.Torch("bf16", q, *inputs.kv["bf16"], scale, "folded")]
    outside += [
        contenders.Ggml(loaded["ggml"], q, *inputs.kv["f16"], scale, layout, threads)
        for layout in ("grouped-query", "folded")
    ]
    dense = contenders.Tamis(loaded["tamis"], "bf16", q, *inputs.kv["bf16"], scale, threads)
    dense.name = "tamis dense"
    return outside, dense, [Sieve(index, dense, *budget, threads) for budget in BUDGETS]


def check(outside, dense, sieves, inputs, exacts, tell):
    """The first steps of everyone against f64; leaves thread pools made and workspaces grown."""
    for q, exact in zip(inputs.q, exacts, strict=False):
        for contender in [*outside, dense, *sieves]:
            contender.set_q(q)
        harness.check([*outside, dense], exact, [0], tell)
        for sieve in sieves:
            sieve.compare(exact)


def measure(family, machine, loaded, options, shape, n):
    """All thread counts of one family of data, shape and length."""
    inputs = sieve_data.FAMILIES[family](shape, n)
    pages, workspace = Pages(*inputs.kv["bf16"]), Workspace(loaded["tamis"], max(options.threads))
    index = Index(loaded["tamis"], "bf16", pages, workspace)
    huge_share = memory.huge_share()
    exacts = [
        Exact(q, *inputs.kv["f32"], [n], shape.scale, parts=max(options.threads))
        for q in inputs.q[: min(CHECKED, options.repeats)]
    ]
    for threads in options.threads:
        machine.unpin()
        outside, dense, sieves = make_contenders(loaded, inputs, index, shape.scale, threads)
        check(outside, dense, sieves, inputs, exacts, tell=0.0 if family in sieve_data.WORST_CASES else 0.5)
        machine.pin(threads)
        made = [*outside, dense, *sieves]
        times = harness.interleave(
            machine,
            made,
            options.repeats,
            seed=n,
            before=lambda contender, repeat: contender.set_q(inputs.q[repeat % len(inputs.q)]),
            after=lambda contender, repeat: contender.record() if isinstance(contender, Sieve) else None,
        )
        results = [
            {
                "name": contender.name,
                "owner": contender.owner,
                "layout": contender.layout,
                **report.summary(seconds),
                **(contender.summary() if isinstance(contender, Sieve) else {}),
            }
            for contender, seconds in zip(made, times, strict=True)
        ]
        sieve_report.add_ratios(results, dense.name)
        case = {"data": family, "shape": str(shape), "d": shape.d, "n": n, "threads": threads}
        yield {**case, "huge_share": huge_share, "results": results}


def main():
    options = arguments()
    machine, loaded, described = harness.start(options)
    probe = Probe(options.build / "bench/libtamis_probe.so")
    bandwidth = dict.fromkeys(options.threads, 0.0)
    arithmetic = {}
    cases, costs, where = [], [], []
    for shape in (s for s in SHAPES if s.d in options.dims):
        harness.raise_bandwidth(machine, options, bandwidth)
        harness.raise_arithmetic(machine, options, arithmetic)
        for n in options.keys:
            for family in options.data:
                print(f"decode, {family}: {shape}, n = {n}", file=sys.stderr, flush=True)
                cases += measure(family, machine, loaded, options, shape, n)
                if n == max(options.keys) and family in STAGED:
                    where += step_stages(machine, probe, options, family, shape, n)
            if any(
                (cost["d"], cost["kv_heads"], cost["n"]) == (shape.d, shape.kv_heads, n) for cost in costs
            ):
                continue  # another shape has the same keys and values
            print(f"index: {shape}, n = {n}", file=sys.stderr, flush=True)
            inputs = sieve_data.FAMILIES["real-like"](shape, n)
            costs += [
                index_cost(machine, loaded["tamis"], probe, options, shape, inputs, threads)
                for threads in options.threads
            ]
    run = {
        "command": harness.command("bench-sieve"),
        "machine": described,
        "bandwidth": bandwidth,
        "arithmetic": arithmetic,
        "method": sieve_report.METHOD.replace("\n", " "),
        "data": sieve_data.description(),
        "cases": cases,
        "index": sieve_report.add_reading(costs, bandwidth),
        "stages": add_limits(where, bandwidth, arithmetic),
    }
    run["verdicts"] = [] if options.quick else sieve_report.verdicts(run, sieve_data.WORST_CASES)
    report.publish(run, options.out, "sieve", "Sparse decode and its index", sieve_report.sections(run))


if __name__ == "__main__":
    main()
