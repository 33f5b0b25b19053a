"""Compares the library's own threads with OpenMP's and oneTBB's, on a quiet machine and on a busy
one, and writes a page of results."""

import argparse
import json
import os
import subprocess
from pathlib import Path

from machine import facts

ROOT = Path(__file__).resolve().parents[1]
INTRODUCTION = """# Whose threads work

The same loops on the library's own threads, on OpenMP's (GCC's, in its default settings) and on oneTBB's task groups, all behind `tamis::Executor`, two
threads each, in one process, each contender once in every round and 30 ms of rest before each; beside them the calling thread alone. *busy* is beside two
processes that never sleep. An empty loop has two items that do nothing; gaps are the caller's own work between loops. realise is `tamis realise --dim 32`
of a union of two random permutations of 256, with its verification. A decode step is of 32 query heads over 8 KV heads of 16384 tokens in f16, d = 128; sparse
with a budget of mass:0.05. Times are medians of the rounds, in brackets the least."""
SCALES = ((1, "s"), (1e-3, "ms"), (0, "µs"))


def time_text(seconds):
    scale, unit = next((s, u) for s, u in SCALES if seconds >= s)
    return f"{seconds / (scale or 1e-6):.3g} {unit}"


def table(rows):
    names = [name for name in rows[0] if name != "task"]
    peers = [name for name in names if name not in ("one thread", "own")]
    head = [*names, "own / one thread", *(f"own / {peer}" for peer in peers)]
    lines = [f"| | {' | '.join(head)} |", "| --- |" + " ---: |" * len(head)]
    for row in rows:
        own = row["own"]["median"]
        cells = [f"{time_text(row[n]['median'])} ({time_text(row[n]['least'])})" for n in names]
        cells += [f"{own / row[n]['median']:.2f}" for n in ("one thread", *peers)]
        lines.append(f"| {row['task']} | {' | '.join(cells)} |")
    return "\n".join(lines)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--build", type=Path, default=ROOT / "build" / "bench")
    parser.add_argument("--quick", action="store_true", help="few rounds, to see that it runs")
    parser.add_argument("--out", type=Path, default=ROOT / "docs" / "results" / "executor.md")
    options = parser.parse_args()
    command_text = "make bench-executor"
    if options.build.resolve() != parser.get_default("build"):
        command_text = f"bench/executor.py --build {options.build}"
    load = os.getloadavg()[0]
    command = [
        options.build / "bench" / "tamis_bench_executor",
        *(["--quick"] if options.quick else []),
    ]
    found = json.loads(subprocess.run(command, stdout=subprocess.PIPE, check=True).stdout)
    sections = [
        f"## {title}\n\n{table(found[which])}"
        for title, which in ((f"Quiet, load {load:.1f}", "quiet"), ("Busy", "busy"))
    ]
    options.out.write_text("\n\n".join([INTRODUCTION, facts(command_text, load), *sections]) + "\n")
    print(options.out)


if __name__ == "__main__":
    main()
