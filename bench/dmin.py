"""Times whole searches for d_min, literal and fast, in one run, and writes a page of results."""

import argparse
import os
import subprocess
from pathlib import Path

from machine import facts

ROOT = Path(__file__).resolve().parents[1]
INTRODUCTION = """# How long a search for d_min takes

The paper's search (k = 1, γ = 1, ε₁ = .5, ε₂ = 1, Q = 1, d by steps of 8 from 8) over one pattern, by its construction to
the letter on OpenBLAS (SVD, QR, dense product, full check) and by tamis's exact draws. One process; at every d first tamis
(median of three) and then the literal form do all draws of that d, up to the first that is accepted, and the times are summed.
The literal form gets tamis's normals and whichever of one BLAS thread per draw or all threads for one draw is faster here.
*per draw*: the ratio if both had needed the same number of draws."""


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--build", type=Path, default=ROOT / "build" / "bench")
    parser.add_argument("--n", type=int, nargs="+", default=[512, 1024])
    parser.add_argument("--threads", type=int, default=len(os.sched_getaffinity(0)))
    parser.add_argument("--out", type=Path, default=ROOT / "docs" / "results" / "dmin-speed.md")
    options = parser.parse_args()
    load = os.getloadavg()[0]
    done = subprocess.run(
        [options.build / "bench" / "tamis_bench_dmin", str(options.threads), *map(str, options.n)],
        stdout=subprocess.PIPE,
        text=True,
        check=True,
    )
    text = INTRODUCTION + "\n\n" + facts("make bench-dmin", load) + "\n\n" + done.stdout
    options.out.write_text(text)
    print(text)


if __name__ == "__main__":
    main()
