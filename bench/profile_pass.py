"""Compares a profile pass with dense attention over the same queries and keys, measures its
memory, and writes a page of results."""

import argparse
import os
import subprocess
from pathlib import Path

from machine import facts

ROOT = Path(__file__).resolve().parents[1]
INTRODUCTION = """# What a profile pass costs

`row_figures`, which measures every row for a profile, against `dense` over the same queries and keys: both
in one process with the same workspace, in turn, after one run that warms up; the ratio is the median of the ratios of
neighbouring runs. The trace is measured over all its layers, heads and queries (causal, so rows differ in length); the long
context is one head of Gaussian keys and queries, f16, d = 64, 64 queries that see all keys, logits of deviation 2. Memory is the peak resident set of
a process of its own for every n."""


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--build", type=Path, default=ROOT / "build" / "bench")
    parser.add_argument(
        "--trace", type=Path, default=ROOT / "data" / "smollm2-kjv-8k-small.safetensors"
    )
    parser.add_argument("--repeats", type=int, default=15)
    parser.add_argument("--out", type=Path, default=ROOT / "docs" / "results" / "profile.md")
    options = parser.parse_args()
    load = os.getloadavg()[0]
    done = subprocess.run(
        [options.build / "bench" / "tamis_bench_profile", options.trace, str(options.repeats)],
        capture_output=True,
        text=True,
        check=True,
    )
    command = "make bench-profile"
    if options.trace != parser.get_default("trace"):
        command += f' BENCH_ARGS="--trace {options.trace.name}"'
    text = INTRODUCTION + "\n\n" + facts(command, load) + "\n\n" + done.stdout
    options.out.write_text(text)
    print(text)


if __name__ == "__main__":
    main()
