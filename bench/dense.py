#!/usr/bin/env python3
"""Times dense attention, decode and prefill, against torch and ggml: `make bench` runs this.

One process, the same cores, interleaved repeats, cold caches, every output checked first (report.METHOD
says how, and is printed in the result). About ten minutes; `--quick` takes seconds and proves only that
everything runs.
"""

import argparse
import os
import random
import sys
import time
from pathlib import Path

os.environ["OPENBLAS_NUM_THREADS"] = "1"  # numpy's, used for the reference only: one thread pool less

import contenders
import memory
import numpy as np
import report
import torch
from exact import Exact
from machine import Machine

SHAPES = [(32, 8, 128), (9, 3, 64)]  # query heads, KV heads, d: Llama-3-8B's and SmolLM2-135M's
LOGIT_SIGMA = 6  # peaked, as trained heads are; the rounding bound then tells right from wrong


def arguments():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    root = Path(__file__).resolve().parent.parent
    parser.add_argument("--peers", type=Path, required=True, help="folder made by bench/peers.sh")
    parser.add_argument(
        "--build", type=Path, default=root / "build/bench", help="build folder of the preset bench"
    )
    parser.add_argument(
        "--out", type=Path, help="folder for dense.md and dense.json (default docs/results)"
    )
    parser.add_argument(
        "--quick", action="store_true", help="short lengths, few repeats, written to the build folder"
    )
    parser.add_argument("--decode", type=int, nargs="*", help="numbers of keys (default 8192 32768 65536)")
    parser.add_argument("--prefill", type=int, nargs="*", help="numbers of tokens (default 2048 8192)")
    parser.add_argument("--threads", type=int, nargs="+", help="default 1 2")
    parser.add_argument(
        "--cores", type=int, nargs="+", help="cores to pin to (default: the first this process may use)"
    )
    parser.add_argument(
        "--repeats", type=int, help="of each decode case (default 15); prefill takes a third"
    )
    options = parser.parse_args()

    def default(name, full, quick):
        if getattr(options, name) is None:
            setattr(options, name, quick if options.quick else full)

    default("decode", [8192, 32768, 65536], [1024])
    default("prefill", [2048, 8192], [256])
    default("repeats", 15, 3)
    default("out", root / "docs/results", options.build / "results")
    allowed = sorted(os.sched_getaffinity(0))
    default("threads", [1, 2], [1, 2])
    options.threads = [t for t in options.threads if t <= len(allowed)]
    options.cores = options.cores or allowed[: max(options.threads)]
    if len(options.cores) < max(options.threads):
        parser.error(f"--cores names {len(options.cores)} cores for {max(options.threads)} threads")
    return options


def make_inputs(shape, rows, n, seed):
    """q [heads, rows, d] in f32 and, for each dtype, k and v [kv_heads, n, d]."""
    heads, kv_heads, d = shape
    rng = np.random.default_rng(seed)
    q = memory.normal(rng, (heads, rows, d), steps_per_sigma=4 * LOGIT_SIGMA, sigma=LOGIT_SIGMA)
    k = memory.normal(rng, (kv_heads, n, d), steps_per_sigma=64)
    v = memory.normal(rng, (kv_heads, n, d), steps_per_sigma=64)
    return q, {
        "f32": (k, v),
        "bf16": (memory.to_bf16(k), memory.to_bf16(v)),
        "f16": (memory.to_f16(k), memory.to_f16(v)),
    }


def decode_contenders(loaded, q, kv, scale, threads):
    torch.set_num_threads(threads)
    made = [
        contenders.Tamis(loaded["tamis"], dtype, q, *kv[dtype], scale, threads)
        for dtype in ("f32", "f16", "bf16")
    ]
    made += [contenders.Torch(dtype, q, *kv[dtype], scale, "folded") for dtype in ("bf16", "f32")]
    made += [
        contenders.Ggml(loaded["ggml"], q, *kv["f16"], scale, layout, threads)
        for layout in ("grouped-query", "folded")
    ]
    return made


def prefill_contenders(loaded, q, kv, scale, threads):
    torch.set_num_threads(threads)
    made = [
        contenders.Tamis(loaded["tamis"], dtype, q, *kv[dtype], scale, threads) for dtype in ("f32", "bf16")
    ]
    return made + [
        contenders.Torch("f32", q, *kv["f32"], scale, layout) for layout in ("grouped-query", "expanded")
    ]


def check(made, exact, rows):
    """Runs everyone once and compares; leaves their thread pools made. Raises on a wrong answer."""
    for contender in made:
        assert exact.discriminates(contender.arithmetic), f"the check of {contender.name} could not fail"
        contender.run()
        fault = exact.fault(contender.output()[:, rows], contender.arithmetic)
        if fault:
            sys.exit(f"{contender.name} ({contender.layout or 'paged'}) {fault}; nothing was timed")


def interleave(machine, made, repeats, order):
    """Seconds of every run: [contender][repeat]."""
    times = [[] for _ in made]
    for _ in range(repeats):
        for i in order.sample(range(len(made)), len(made)):
            machine.settle()
            machine.evict()
            start = time.perf_counter_ns()
            made[i].run()
            times[i].append((time.perf_counter_ns() - start) * 1e-9)
    return times


def measure(mode, machine, loaded, options, shape, n):
    """All thread counts of one shape and length."""
    heads, kv_heads, d = shape
    rows = n if mode == "prefill" else 1
    scale = d**-0.5
    q, kv = make_inputs(shape, rows, n, seed=n)
    huge_share = memory.huge_share()
    # Prefill is checked at its first rows, where the mask decides most, around tiles, and at the end.
    chosen = sorted({p for p in (0, 1, 2, 15, 16, 31, 32, 127, 128, n // 2, n - 2, n - 1) if 0 <= p < rows})
    seen = [p + 1 for p in chosen] if mode == "prefill" else [n]
    exact = Exact(q[:, chosen], *kv["f32"], seen, scale, parts=max(options.threads))
    repeats = options.repeats if mode == "decode" else max(3, options.repeats // 3)
    for threads in options.threads:
        make = decode_contenders if mode == "decode" else prefill_contenders
        machine.unpin()
        made = make(loaded, q, kv, scale, threads)
        check(made, exact, chosen)
        machine.pin(threads)
        results = []
        for contender, times in zip(
            made, interleave(machine, made, repeats, random.Random(n)), strict=True
        ):
            result = {
                "name": contender.name,
                "owner": contender.owner,
                "dtype": contender.dtype,
                "layout": contender.layout,
                **report.summary(times),
            }
            seconds = result["ms"] * 1e-3
            if mode == "decode":
                result["bytes"] = 2 * kv["f32"][0].size * (4 if contender.dtype == "f32" else 2)
                result["gb_per_s"] = result["bytes"] / seconds * 1e-9
            else:
                # Two products of d multiply-adds for each of the n(n+1)/2 pairs that are not masked.
                result["flops"] = 2 * d * heads * n * (n + 1)
                result["gflop_per_s"] = result["flops"] / seconds * 1e-9
            results.append(result)
        report.add_ratios(report.better_layouts(results))
        case = {"mode": mode, "shape": shape, "n": n, "threads": threads, "huge_share": huge_share}
        yield {**case, "results": results}


def main():
    options = arguments()
    os.sched_setaffinity(0, set(options.cores))
    machine = Machine(options.build / "bench/libtamis_bench.so", options.cores)
    loaded = {
        "tamis": contenders.Tamis.load(options.build / "src/libtamis.so"),
        "ggml": contenders.Ggml.load(options.peers / "ggml/build/libggml_peer.so"),
    }
    described = {**machine.describe(options.peers), "tamis": contenders.Tamis.version(loaded["tamis"])}
    if described["load_before"] > 0.5:
        print(
            f"warning: load {described['load_before']} before the start; others' work spoils these numbers"
        )

    cases = []
    bandwidth = dict.fromkeys(options.threads, 0.0)
    for mode, lengths in (("decode", options.decode), ("prefill", options.prefill)):
        for shape in SHAPES:
            # Again before each shape, for the best moment of a machine whose memory others may share.
            for threads in options.threads:
                measured = machine.read_bandwidth(threads, passes=2 if options.quick else 8)
                bandwidth[threads] = max(bandwidth[threads], measured)
            for n in lengths:
                print(f"{mode} {shape} n = {n}", file=sys.stderr, flush=True)
                cases += measure(mode, machine, loaded, options, shape, n)
    report.add_shares(cases, bandwidth)

    run = {
        "command": "make bench"
        + (f" BENCH_ARGS='{given}'" if (given := os.environ.get("BENCH_ARGS")) else ""),
        "machine": described,
        "bandwidth": bandwidth,
        "method": report.METHOD.replace("\n", " "),
        "cases": cases,
    }
    run["verdicts"] = report.verdicts(run)
    for title, text in report.sections(run):
        print(f"{title}\n{text}\n")
    print("\n".join([*run["verdicts"], *report.facts(run)]))
    report.save(run, options.out)
    print(f"written to {os.path.relpath(options.out)}/dense.md and dense.json")


if __name__ == "__main__":
    main()
