#!/usr/bin/env python3
"""Compares two builds of the program `tamis`.

    compare.py all|results|speed EARLIER LATER

`results` runs a list of commands with both on the data that ships with the project, and
compares what they print and write byte for byte, except times. `speed` runs decode steps with
both in turns and prints medians and their ratio. The exit status is 1 if results differ, or if
a median of the later build is more than 3 % above the earlier one's, also after more rounds.
"""

import hashlib
import json
import os
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

DATA = Path(__file__).resolve().parent.parent / "data"
TRACE = DATA / "smollm2-kjv-8k-small.safetensors"
PATTERN = DATA / "pattern-32.mtx"
QRELS = DATA / "recipes.qrels"

# JSON members that may differ between two runs of one program.
TIMES = {
    "seconds",
    "append_seconds",
    "core_seconds",
    "ms",
    "made_by",
    "store",
    "version",
    "trace",
    "out",
    "path",
}


def commands():
    """Yields (name, arguments). OUT/ in an argument stands for a folder whose files are compared
    too."""
    for target in ("scalar", "avx2", "avx512", "avx512vnni"):
        for budget in (
            "mass:0.05",
            "mass:0.01",
            "bytes:0.3",
            "topk:64",
            "power:2,0.5",
            "window:512,4",
        ):
            for prefer in ("bytes", "time"):
                yield (
                    f"TAMIS_TARGET={target} attend {budget} {prefer}",
                    f"attend {TRACE} --budget {budget} --prefer {prefer} --out OUT/attended.safetensors",
                )
        yield (
            f"TAMIS_TARGET={target} attend dense",
            f"attend {TRACE} --dense --out OUT/dense.safetensors",
        )
        yield (
            f"TAMIS_TARGET={target} profile",
            f"profile {TRACE} --out OUT/profile.json --rows OUT/rows.safetensors --vega OUT/page.json",
        )
        for method in ("jl --redraws 200", "moment", "descent --dim 6 --steps 300"):
            yield (
                f"TAMIS_TARGET={target} realise {method}",
                f"realise {PATTERN} --method {method} --out OUT/witness.safetensors",
            )
    for bits in (8, 12, 16):
        yield (
            f"attend {bits} bits",
            f"attend {TRACE} --budget mass:0.05 --bits {bits} --check --layer 12",
        )
    yield "realise auto", f"realise {PATTERN} --out OUT/witness.safetensors"
    yield (
        "realise weak",
        f"realise {QRELS} --weak --dim 3 --steps 300 --out OUT/witness.safetensors",
    )
    yield (
        "realise paper form",
        f"realise {PATTERN} --method jl --hidden 64 --out OUT/witness.safetensors",
    )
    yield "verify", f"verify {PATTERN} {DATA / 'witness-32.safetensors'}"
    yield "decide dim 1", f"decide {PATTERN} --dim 1 --refutation OUT/refutation.json"
    yield (
        "decide qrels",
        f"decide {QRELS} --refutation OUT/refutation.json --out OUT/witness.safetensors",
    )
    yield "decide hidden", f"decide {PATTERN} --dim 2 --hidden 3 --no-solvers --time-limit 5"
    yield "frontier", f"frontier {PATTERN}"
    yield "dmin", "dmin --n 128 --k 2 --gamma 1 --eps1 0.5 --eps2 1"
    for word in (
        "permutations --n 64 --k 3",
        "causal --n 64 --k 3",
        "banded --n 32 --reach 2",
        "block --n 32 --size 4",
        "pairs --n 12",
        f"trace --trace {TRACE} --layer 12 --head 1 --k 8",
    ):
        yield f"pattern {word.split()[0]}", f"pattern {word} --out OUT/pattern.mtx"
    for name, axes in {
        "fig3": "n=64,96,192 k=1,2 matrices=1 curve_from=192",
        "fig4": "n=64,128 matrices=1",
        "frontier": "n=32,64 dim=4,8 steps=100 matrices=1",
        "window": "n=256,512,1024 replicates=3",
        "length": "replicates=3",
        "norm": "n=256,1024 replicates=2",
        "violation": "n=256,1024 replicates=2",
        "alpha": "replicates=3",
        "collapse": "n=256,1024 replicates=2",
    }.items():
        sets = " ".join(f"--set {axis}" for axis in axes.split())
        yield f"sweep {name}", f"sweep {name} {sets} --store OUT/store.sqlite --vega OUT/chart.json"


def without_times(value):
    if isinstance(value, dict):
        return {key: without_times(inner) for key, inner in value.items() if key not in TIMES}
    if isinstance(value, list):
        return [without_times(inner) for inner in value]
    return value


def contents(path):
    data = path.read_bytes()
    return json.dumps(without_times(json.loads(data))).encode() if path.suffix == ".json" else data


def run(program, name, arguments):
    """Returns a fingerprint of everything that the command prints and writes, and its exit
    status."""
    environment = dict(os.environ)
    if name.startswith("TAMIS_TARGET="):
        environment["TAMIS_TARGET"] = name.split()[0].split("=")[1]
    with tempfile.TemporaryDirectory() as folder:
        command = [program, *arguments.replace("OUT/", f"{folder}/").split(), "--json"]
        done = subprocess.run(command, capture_output=True, text=True, env=environment, check=False)
        try:
            printed = json.dumps(without_times(json.loads(done.stdout)))
        except json.JSONDecodeError:
            printed = done.stdout
        sha = hashlib.sha256(printed.replace(folder, "").encode())
        for path in sorted(Path(folder).iterdir()):
            # A store holds times; its results are compared as they are printed.
            if path.suffix not in (".sqlite", ".sqlite-shm", ".sqlite-wal", ".lock"):
                sha.update(path.name.encode() + contents(path))
        return done.returncode, sha.hexdigest(), done.stderr.strip()


def compare_results(programs):
    different = not_run = same = 0
    for name, arguments in commands():
        before, after = (run(program, name, arguments) for program in programs)
        if before[0] in (2, 3) and before[:1] == after[:1]:
            if "instructions that this CPU does not have" not in before[2]:
                sys.exit(f"compare: {name} fails in both builds: {before[2]}")
            not_run += 1
        elif before[:2] == after[:2]:
            same += 1
        else:
            different += 1
            print(f"differs: {name}\n  {arguments}\n  exit {before[0]} and {after[0]} {after[2]}")
    print(
        f"results: {same} commands the same bit for bit, {different} different, {not_run} not run (CPU)"
    )
    return different == 0


SHAPES = (
    "--heads 32/8 --dim 128 --tokens 65536",
    "--heads 32/8 --dim 64 --tokens 65536",
    "--heads 8/8 --dim 128 --tokens 32768",
    "--heads 32/8 --dim 128 --tokens 8192 --batch 4",
)


def targets_here(program):
    info = json.loads(
        subprocess.run([program, "info", "--json"], capture_output=True, check=True).stdout
    )
    return [target["name"] for target in info["targets"] if target["runs_here"]]


def time_in_turns(programs, target, shape, rounds):
    """Returns milliseconds as {(program, kind): […]}, the programs run in turns."""
    times = {}
    for turn in range(rounds):
        for program in programs if turn % 2 == 0 else programs[::-1]:
            done = subprocess.run(
                [program, "bench", *shape.split(), "--prefer", "time", "--json"],
                capture_output=True,
                check=True,
                env={**os.environ, "TAMIS_TARGET": target},
            )
            result = json.loads(done.stdout)
            for kind in ("sparse_ms", "dense_ms"):
                times.setdefault((program, kind), []).append(result[kind])
    return times


def compare_speed(programs, rounds=7):
    """What seems slower is timed for three times as many rounds more, and all rounds count, because
    the medians of 7 rounds of one program differ by up to 8 % on a shared machine."""
    print("| target | decode step | rounds | sparse: earlier, later, ratio | dense: same |")
    print("| --- | --- | ---: | --- | --- |")
    slower = False
    for target in targets_here(programs[1])[1:]:
        for shape in SHAPES:
            times = {}
            for more in (rounds, 3 * rounds):
                for key, ms in time_in_turns(programs, target, shape, more).items():
                    times.setdefault(key, []).extend(ms)
                medians = {key: statistics.median(ms) for key, ms in times.items()}
                pairs = [
                    tuple(medians[program, kind] for program in programs)
                    for kind in ("sparse_ms", "dense_ms")
                ]
                if all(after <= 1.03 * before for before, after in pairs):
                    break
            slower |= any(after > 1.03 * before for before, after in pairs)
            cells = [
                f"{before:.2f} ms, {after:.2f} ms, {after / before:.3f}" for before, after in pairs
            ]
            taken = len(next(iter(times.values())))
            print(f"| {target} | {shape} | {taken} | {' | '.join(cells)} |", flush=True)
    return not slower


def main(what, *programs):
    good = True
    if what in ("all", "results"):
        good &= compare_results(programs)
    if what in ("all", "speed"):
        good &= compare_speed(programs)
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
