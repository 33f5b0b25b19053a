"""Measures how small the norms of witnesses from descent get, in what time and memory, and writes
a page of results."""

import argparse
import json
import os
import subprocess
import tempfile
from pathlib import Path

from machine import facts

ROOT = Path(__file__).resolve().parents[1]
INTRODUCTION = """# Witnesses by descent

Unions of k random permutations, values 1 or γ, ε₁ = .1, ε₂ = 1: `tamis realise --dim M` with its default steps, one process for each line. Time is that
of the whole call: descent, shortest queries, verification in f32, f64 and exact arithmetic. Every witness is verified again by a process of its own (`tamis
verify`). Memory is the peak resident set of the process (29 MB and below: that of the script that starts it). *earlier* is max |L| of the first prototype."""
# n, k, gamma, dim and the max |L| that the prototype reached
LINES = [
    *((512, 1, 1, m, known) for m, known in ((4, 35.3), (6, 11.3), (8, 7.3), (12, 4.9), (16, 4.1), (24, 3.5), (32, 3.2), (48, 2.9), (64, 2.8))),
    *((1024, 2, 1, m, known) for m, known in ((4, 58.5), (6, 16.3), (8, 9.9), (12, 6.5), (16, 5.2), (24, 4.1), (32, 3.8), (48, 3.4), (64, 3.1))),
    *((4096, 2, 2, m, known) for m, known in ((6, 28.7), (8, 14.9), (16, 6.6), (32, 4.4))),
    (16384, 2, 2, 16, None),
]  # fmt: skip


def run(*command):
    return json.loads(subprocess.run(command, capture_output=True, text=True, check=True).stdout)


def measured(program, folder, n, k, gamma, dim):
    """Makes one witness and returns what realise printed, whether verify confirms it, and the peak
    memory of realise in MB."""
    pattern, witness = folder / "p.mtx", folder / "w.safetensors"
    run(program, "pattern", "permutations", "--n", str(n), "--k", str(k), "--gamma", str(gamma), "--out", pattern, "--json")  # fmt: skip
    command = [program, "realise", pattern, "--dim", str(dim), "--out", witness, "--json"]
    with tempfile.TemporaryFile("w+") as out:
        process = subprocess.Popen(command, stdout=out)
        _, status, usage = os.wait4(process.pid, 0)
        if status != 0:
            raise SystemExit(f"{' '.join(map(str, command))} failed")
        out.seek(0)
        found = json.load(out)
    confirmed = run(program, "verify", pattern, witness, "--json")["holds"]
    return found, confirmed, usage.ru_maxrss / 1024


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--build", type=Path, default=ROOT / "build" / "release")
    parser.add_argument("--largest", type=int, default=1 << 20, help="leave out lines of more rows")
    parser.add_argument("--out", type=Path, default=ROOT / "docs" / "results" / "realise.md")
    options = parser.parse_args()
    program = options.build / "cli" / "tamis"
    load = os.getloadavg()[0]
    rows = []
    with tempfile.TemporaryDirectory() as folder:
        for n, k, gamma, dim, known in LINES:
            if n > options.largest:
                continue
            found, confirmed, megabytes = measured(program, Path(folder), n, k, gamma, dim)
            row = (
                f"| {n} | {k} | {gamma} | {dim} | {found['norm_product']:.3f} | {found['max_logit']:.2f} | {known or ''} |"
                f" {found['norm_lower_bound']:.3f} | {found['method']} | {found['seconds']:.1f} | {megabytes:.0f} |"
                f" {'yes' if confirmed else 'NO'} |"
            )
            print(row, flush=True)
            rows.append(row)
    head = (
        "| n | k | γ | columns | norm product | max \\|L\\| | earlier | no witness below | by | seconds | MB | verified |\n"
        "| ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: | --- | ---: | ---: | --- |"
    )
    options.out.write_text(
        "\n\n".join([INTRODUCTION, facts("make bench-realise", load), "\n".join([head, *rows])])
        + "\n"
    )
    print(options.out)


if __name__ == "__main__":
    main()
