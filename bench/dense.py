#!/usr/bin/env python3
"""Times dense attention, decode and prefill, against torch and ggml: `make bench` runs this.

All run in one process on the same cores with interleaved repeats and cold caches, and every
output is checked first (report.METHOD describes the method and is printed in the result). Takes
about ten minutes; `--quick` takes seconds and only proves that everything runs.
"""

import os
import sys

os.environ["OPENBLAS_NUM_THREADS"] = "1"  # numpy, for the reference only, needs no thread pool

import contenders
import harness
import memory
import numpy as np
import report
import torch
from exact import Exact

SHAPES = [(32, 8, 128), (9, 3, 64)]  # query heads, KV heads, d: Llama-3-8B's and SmolLM2-135M's
LOGIT_SIGMA = 6  # peaked like trained heads, so that rounding bounds are tight


def arguments():
    parser = harness.parser(__doc__)
    parser.add_argument(
        "--decode", type=int, nargs="*", help="numbers of keys (default 8192 32768 65536)"
    )
    parser.add_argument(
        "--prefill", type=int, nargs="*", help="numbers of tokens (default 2048 8192)"
    )
    parser.add_argument(
        "--repeats", type=int, help="of each decode case (default 15); prefill takes a third"
    )
    return harness.parse(
        parser,
        full={"decode": [8192, 32768, 65536], "prefill": [2048, 8192], "repeats": 15},
        quick={"decode": [1024], "prefill": [256], "repeats": 3},
    )


def make_inputs(shape, rows, n, seed):
    """Returns q [heads, rows, d] in f32 and, for each dtype, k and v [kv_heads, n, d]."""
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
        contenders.Ggml(loaded["ggml"], "f16", q, *kv["f16"], scale, layout, threads)
        for layout in ("grouped-query", "folded")
    ]
    return made


def prefill_contenders(loaded, q, kv, scale, threads):
    torch.set_num_threads(threads)
    made = [
        contenders.Tamis(loaded["tamis"], dtype, q, *kv[dtype], scale, threads)
        for dtype in ("f32", "bf16")
    ]
    return made + [
        contenders.Torch("f32", q, *kv["f32"], scale, layout)
        for layout in ("grouped-query", "expanded")
    ]


def measure(mode, machine, loaded, options, shape, n):
    """Measures one shape and length with every number of threads."""
    heads, kv_heads, d = shape
    rows = n if mode == "prefill" else 1
    scale = d**-0.5
    q, kv = make_inputs(shape, rows, n, seed=n)
    huge_share = memory.huge_share()
    # Prefill is checked at its first rows, where the mask matters most, around tiles, and at the
    # end.
    chosen = sorted(
        {p for p in (0, 1, 2, 15, 16, 31, 32, 127, 128, n // 2, n - 2, n - 1) if 0 <= p < rows}
    )
    seen = [p + 1 for p in chosen] if mode == "prefill" else [n]
    exact = Exact(q[:, chosen], *kv["f32"], seen, scale, parts=max(options.threads))
    repeats = options.repeats if mode == "decode" else max(3, options.repeats // 3)
    for threads in options.threads:
        make = decode_contenders if mode == "decode" else prefill_contenders
        machine.unpin()
        made = make(loaded, q, kv, scale, threads)
        harness.check(made, exact, chosen)
        machine.pin(threads)
        results = []
        for contender, times in zip(
            made, harness.interleave(machine, made, repeats, seed=n), strict=True
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
                # Two products of d multiply-adds for each of the n(n+1)/2 pairs that are not
                # masked.
                result["flops"] = 2 * d * heads * n * (n + 1)
                result["gflop_per_s"] = result["flops"] / seconds * 1e-9
            results.append(result)
        report.add_ratios(report.better_layouts(results))
        case = {"mode": mode, "shape": shape, "n": n, "threads": threads, "huge_share": huge_share}
        yield {**case, "results": results}


def main():
    options = arguments()
    machine, loaded, described = harness.start(options)
    cases = []
    bandwidth = dict.fromkeys(options.threads, 0.0)
    for mode, lengths in (("decode", options.decode), ("prefill", options.prefill)):
        for shape in SHAPES:
            harness.raise_bandwidth(machine, options, bandwidth)
            for n in lengths:
                print(f"{mode} {shape} n = {n}", file=sys.stderr, flush=True)
                cases += measure(mode, machine, loaded, options, shape, n)
    report.add_shares(cases, bandwidth)

    run = {
        "command": harness.command("bench"),
        "machine": described,
        "bandwidth": bandwidth,
        "method": report.METHOD.replace("\n", " "),
        "cases": cases,
    }
    run["verdicts"] = report.verdicts(run)
    report.publish(
        run, options, "dense", "Dense attention against torch and ggml", report.sections(run)
    )


if __name__ == "__main__":
    main()
