"""Ctrl-C ends long calls soon, with KeyboardInterrupt and nothing else."""

import signal
import subprocess
import sys
import time

import pytest

PREPARE = """
import signal, sys
import numpy as np
import tamis
signal.signal(signal.SIGINT, signal.default_int_handler)
random = np.random.default_rng(0)
a = (random.random((120, 90)) < .3) * 1.
a[:, 0] = 1 - a[:, 1:].any(axis=1)
positions = np.arange(1000, 30000, 20)
layers = {
    n: {"q": random.standard_normal((16, len(positions), 64), np.float32)}
    | {name: random.standard_normal((2, 30000, 64), np.float32) for name in "kv"}
    for n in range(2)
}
big = tamis.permutations_pattern(1500, 3)
def told(done, total):
    print("working", flush=True)
try:
    CALL
except KeyboardInterrupt:
    print("interrupted", flush=True)
    sys.exit(7)
"""
CALLS = {
    "realise": "tamis.realise(big, 24, steps=10**7, progress=told)",
    "frontier": "tamis.frontier(big, [24, 32], steps=10**7, progress=told)",
    "jl": "tamis.realise(big, 40, method='jl', redraws=10**9, progress=told)",
    "decide": "tamis.decide(a, time_limit=3600, progress=told)",
    "decide without solvers": "tamis.decide(a, time_limit=3600, solvers=False, progress=told)",
    "profile": "tamis.profile(tamis.Trace.from_arrays(layers, positions), progress=told)",
}


@pytest.mark.parametrize("case", CALLS, ids=str)
def test_interrupts_are_seen_at_once(case):
    with subprocess.Popen(
        [sys.executable, "-c", PREPARE.replace("CALL", CALLS[case])],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as process:
        begun = process.stdout.readline()
        assert begun == "working\n", process.communicate()[1]
        time.sleep(0.3)
        process.send_signal(signal.SIGINT)
        out, err = process.communicate()  # without the signal most calls would take hours
    assert process.returncode == 7 and out.endswith("interrupted\n") and err == ""
