"""Small sweeps for tests to run, and the contents of their stores."""

import json
import os
import shutil
import sqlite3
import subprocess
import time

import pytest
from conftest import ROOT, program, tamis

# Twenty-four points that take a few milliseconds to a tenth of a second each.
GRID = [
    "--set",
    "n=32,64,128",
    "--set",
    "k=1,2",
    "--set",
    "matrices=2",
    "--set",
    "eps1=0.5,0.1",
    "--set",
    "gamma=1",
]
POINTS = 24
MPIRUN = ["mpirun", "--oversubscribe", "--allow-run-as-root"]


def command(store, *more):
    return ["sweep", "fig3", *GRID, "--store", str(store), *map(str, more)]


def sweep(store, *more, **options):
    return json.loads(tamis(*command(store, *more, "--json"), **options).stdout)


def status(store):
    return json.loads(tamis("sweep", "status", "--store", store, "--json").stdout)


def rows(store):
    """Every point with its result, as text."""
    database = sqlite3.connect(f"file:{store}?mode=ro", uri=True)
    try:
        assert database.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
        return database.execute(
            "SELECT sweep, parameters, result FROM point ORDER BY 1, 2"
        ).fetchall()
    finally:
        database.close()


def until(true):
    for _ in range(3000):
        if true():
            return
        time.sleep(0.01)
    raise AssertionError("it never happened")


def start(*args, around=(), **options):
    """Starts the program in the background; `around` is a command that starts it."""
    return subprocess.Popen(
        [*around, program(), *map(str, args)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        cwd=ROOT,
        **options,
    )


def start_on_ranks(count, *args, around=()):
    """Starts the program under mpirun in the background; `around` starts it on every rank."""
    if not shutil.which("mpirun"):
        pytest.skip("mpirun is not installed: not run")
    # mpirun's sockets need a short path.
    return start(
        *args, around=[*MPIRUN, "-n", str(count), *around], env=os.environ | {"TMPDIR": "/tmp"}
    )


def end_of(run):
    """Waits for a program in the background; returns its outputs and its status."""
    try:
        out, said = run.communicate(timeout=120)
    finally:
        run.kill()
    return subprocess.CompletedProcess(run.args, run.returncode, out, said)


def skip_without_mpi(done):
    if "libtamis-mpi.so cannot be used" in done.stderr:
        pytest.skip("this build has no MPI: not run")


def on_ranks(count, *args, around=()):
    """Runs the program under mpirun to its end. The program's own messages are the first line of
    standard error; the rest is mpirun's."""
    done = end_of(start_on_ranks(count, *args, around=around))
    skip_without_mpi(done)
    return done
