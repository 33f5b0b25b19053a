"""What the benchmarks share: options, loading libraries, checking outputs, and interleaved
timing."""

import argparse
import os
import random
import sys
import time
from pathlib import Path

import contenders
import tamis_c
from machine import Machine

ROOT = Path(__file__).resolve().parent.parent


def parser(description):
    made = argparse.ArgumentParser(
        description=description, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    made.add_argument("--peers", type=Path, required=True, help="folder made by bench/peers.sh")
    made.add_argument(
        "--build", type=Path, default=ROOT / "build/bench", help="build folder of the preset bench"
    )
    made.add_argument("--out", type=Path, help="folder for the results (default docs/results)")
    made.add_argument(
        "--quick",
        action="store_true",
        help="short lengths, few repeats, written to the build folder",
    )
    made.add_argument("--threads", type=int, nargs="+", default=[1, 2], help="default 1 2")
    made.add_argument(
        "--cores",
        type=int,
        nargs="+",
        help="cores to pin to (default: the first this process may use)",
    )
    return made


def parse(parser, full, quick):
    """Parses the options, with defaults from `full` or, with --quick, from `quick`."""
    options = parser.parse_args()
    full = {"out": ROOT / "docs/results", **full}
    quick = {"out": options.build / "results", **quick}
    for name, value in (quick if options.quick else full).items():
        if getattr(options, name) is None:
            setattr(options, name, value)
    allowed = sorted(os.sched_getaffinity(0))
    options.threads = [t for t in options.threads if t <= len(allowed)]
    options.cores = options.cores or allowed[: max(options.threads)]
    if len(options.cores) < max(options.threads):
        parser.error(f"--cores names {len(options.cores)} cores for {max(options.threads)} threads")
    return options


def command(target):
    given, forced = os.environ.get("BENCH_ARGS"), os.environ.get("TAMIS_TARGET")
    return (
        (f"TAMIS_TARGET={forced} " if forced else "")
        + f"make {target}"
        + (f" BENCH_ARGS='{given}'" if given else "")
    )


def start(options):
    """Returns the machine, the libraries and a description of both. Confines this process to the
    cores of the benchmark."""
    os.sched_setaffinity(0, set(options.cores))
    machine = Machine(options.build / "bench/libtamis_bench.so", options.cores)
    loaded = {
        "tamis": tamis_c.Library(options.build / "src/libtamis.so"),
        "ggml": contenders.Ggml.load(options.peers / "ggml/build/libggml_peer.so"),
    }
    described = {**machine.describe(options.peers), "tamis": loaded["tamis"].version()}
    if described["load_before"] > 0.5:
        print(
            f"warning: load {described['load_before']} before the start; others' work spoils these numbers",
            file=sys.stderr,
        )
    return machine, loaded, described


def raise_bandwidth(machine, options, bandwidth):
    """Measures again and keeps the maximum, since others may share the machine's memory."""
    for threads in options.threads:
        measured = machine.read_bandwidth(threads, passes=2 if options.quick else 8)
        bandwidth[threads] = max(bandwidth[threads], measured)


def check(made, exact, rows, tell=1.0):
    """Runs every contender once, which also starts its thread pool, and ends the program if an
    output is wrong. The comparison must be able to fail for a share `tell` of the heads: where
    attention is nearly uniform and a contender's arithmetic short, rounding could explain any
    output."""
    for contender in made:
        assert exact.telling(contender.arithmetic) >= tell, (
            f"the check of {contender.name} could not fail"
        )
        contender.run()
        fault = exact.fault(contender.output()[:, rows], contender.arithmetic)
        if fault:
            sys.exit(f"{contender.name} ({contender.layout or 'paged'}) {fault}; nothing was timed")


def seconds_of(run):
    start = time.perf_counter_ns()
    run()
    return (time.perf_counter_ns() - start) * 1e-9


def timed(machine, run):
    """Returns the seconds of one run that finds its core free and its caches empty."""
    machine.settle()
    machine.evict()
    return seconds_of(run)


def interleave(machine, made, repeats, seed, before=None, after=None):
    """Returns the seconds of every run as [contender][repeat], with the order drawn anew for each
    repeat. `before` and `after` are called with the contender and the repeat, untimed."""
    order = random.Random(seed)
    times = [[] for _ in made]
    for repeat in range(repeats):
        for i in order.sample(range(len(made)), len(made)):
            if before:
                before(made[i], repeat)
            times[i].append(timed(machine, made[i].run))
            if after:
                after(made[i], repeat)
    return times
