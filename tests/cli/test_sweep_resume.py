"""Sweeps that are killed, meet a full disk or run on many ranks all end with the same table."""

import contextlib
import json
import os
import random
import resource
import shutil
import signal
import sqlite3
import subprocess
import time

import pytest
from conftest import sanitized, sentence_of, tamis
from sweeps import (
    POINTS,
    command,
    end_of,
    on_ranks,
    rows,
    skip_without_mpi,
    start,
    start_on_ranks,
    status,
    sweep,
    until,
)


@pytest.fixture(scope="module")
def done(tmp_path_factory):
    """An undisturbed run: its store, its report and how long it took."""
    store = tmp_path_factory.mktemp("whole") / "s.sqlite"
    begin = time.monotonic()
    said = sweep(store)
    return store, said, time.monotonic() - begin


def expect_same(store, done, *more):
    said = sweep(store, *more)
    for part in ("table", "sentences", "points", "done"):
        assert said[part] == done[1][part]
    assert rows(store) == rows(done[0])
    return said


@pytest.mark.parametrize("seed", [int.from_bytes(os.urandom(4), "big") for _ in range(3)])
def test_killed_at_random_moments_it_resumes_bit_for_bit(seed, done, tmp_path):
    print("seed", seed)
    chance = random.Random(seed)
    store = tmp_path / "s.sqlite"
    before = 0
    for _ in range(4):
        run = start(*command(store, "--threads", chance.choice([1, 2])))
        time.sleep(chance.uniform(0, 0.6 * done[2]))
        run.kill()
        run.communicate(timeout=60)
        if store.exists() and store.stat().st_size > 0:
            now = status(store)["done"]
            assert now >= before  # nothing that was done is lost
            before = now
    assert expect_same(store, done)["computed"] == POINTS - before


def copy_store(store, folder):
    """Copies the store and its log in their current state."""
    folder.mkdir()
    for path in store.parent.glob(store.name + "*"):
        if not path.name.endswith((".lock", "-shm")):
            shutil.copy(path, folder)
    return folder / store.name


def expect_whole_and_resumable(store, elsewhere, done):
    """After a full disk: what is stored is right, and the sweep resumes where there is room."""
    copy = copy_store(store, elsewhere)
    held = rows(copy)
    assert set(held) <= set(rows(done[0])) and 0 < len(held) < POINTS
    assert expect_same(copy, done)["computed"] == POINTS - len(held)


def test_a_full_disk_is_told_and_loses_nothing(done, tmp_path):
    if sanitized():
        pytest.skip("sanitizers write files of their own: not run")

    def small_files():
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (80_000, 80_000))

    store = tmp_path / "s.sqlite"
    failed = tamis(*command(store, "--threads", 1), status=3, preexec_fn=small_files)
    assert f"{store}: the disk is full or failed" in sentence_of(failed)
    expect_whole_and_resumable(store, tmp_path / "elsewhere", done)


@contextlib.contextmanager
def small_disk(disk, size):
    """A file system of that size, if this user may mount one."""
    disk.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", f"size={size}", "tmpfs", disk]
    if subprocess.run(mount, capture_output=True, check=False).returncode != 0:
        pytest.skip("no file system may be mounted here: not run")
    try:
        yield disk
    finally:
        subprocess.run(["umount", disk], check=True)


def test_a_full_file_system_is_told_and_loses_nothing(done, tmp_path):
    with small_disk(tmp_path / "disk", "128k") as disk:
        store = disk / "s.sqlite"
        failed = tamis(*command(store, "--threads", 1), status=3)
        assert f"{store}: the disk is full or failed" in sentence_of(failed)
        expect_whole_and_resumable(store, tmp_path / "elsewhere", done)


def test_a_store_in_a_folder_that_cannot_be_written_is_read(done, tmp_path):
    with small_disk(tmp_path / "disk", "1m") as disk:
        shutil.copy(done[0], disk / "plain")
        shutil.copy(done[0], disk / "in wal mode?")
        log = sqlite3.connect(disk / "in wal mode?")
        log.execute("PRAGMA journal_mode = WAL")
        log.close()
        subprocess.run(["mount", "-o", "remount,ro", disk], check=True)
        for name in ("plain", "in wal mode?"):
            assert status(disk / name)["done"] == POINTS
        assert "disk" in sentence_of(tamis(*command(disk / "plain"), status=3))


@pytest.mark.parametrize("count", [1, 2, 3, 4])
def test_ranks_do_not_show(count, done, tmp_path):
    store = tmp_path / "s.sqlite"
    ended = on_ranks(count, *command(store))
    assert ended.returncode == 0, ended.stderr
    assert f"{POINTS} of {POINTS} points done, {POINTS} of them now" in ended.stdout
    assert ("on 1 thread" if count == 1 else f"on {count} ranks of 1 thread") in ended.stdout
    assert expect_same(store, done)["computed"] == 0


def on_rank_1(words):
    """A command that starts the program, and on rank 1 first runs these shell commands."""
    return [
        "bash",
        "-c",
        f'if [ "$OMPI_COMM_WORLD_RANK" = 1 ]; then {words}; fi; exec "$@"',
        "bash",
    ]


def test_a_rank_that_dies_loses_only_its_point(tmp_path):
    # Points of equal length, far more than ranks: some are done while others wait.
    grid = ["fig3", "--set", "n=192", "--set", "k=1,2", "--set", "gamma=1", "--set", "matrices=12"]
    store, pid = tmp_path / "s.sqlite", tmp_path / "pid"
    begun = start_on_ranks(
        3, "sweep", *grid, "--store", store, around=on_rank_1(f'echo $$ > {pid}; exec "$@"')
    )
    until(lambda: begun.poll() is not None or (store.exists() and status(store)["done"] >= 4))
    before = rows(store) if store.exists() else []
    if begun.poll() is None:
        os.kill(int(pid.read_text()), signal.SIGKILL)
    ended = end_of(begun)
    skip_without_mpi(ended)
    assert ended.returncode == 128 + signal.SIGKILL and ended.stdout == "", ended.stderr
    held = rows(store)
    assert len(before) >= 4 and set(before) <= set(held)
    assert len(held) < status(store)["points"] == 48 and status(store)["failed"] == 0
    resumed = json.loads(tamis("sweep", *grid, "--store", store, "--json").stdout)
    assert (resumed["done"], resumed["computed"]) == (48, 48 - len(held))
    assert set(held) <= set(rows(store))
    undisturbed = tmp_path / "undisturbed"
    tamis("sweep", *grid, "--store", undisturbed)
    assert rows(store) == rows(undisturbed)


def test_errors_of_rank_0_end_all_ranks(tmp_path):
    for args, words, code in (
        (["fig3", "--set", "n=1", "--store", tmp_path / "s"], "the axis n of fig3", 2),
        (["fig33"], "there is no 'fig33'", 2),
        (["fig3", "--store", "README.md"], "README.md: is not a store", 2),
        (["fig3", "--store", tmp_path / "no" / "s"], "there is no folder", 3),
    ):
        ended = on_ranks(3, "sweep", *args)
        assert ended.returncode == code, ended.stderr
        assert ended.stdout == "" and ended.stderr.count("tamis: ") == 1
        assert words in ended.stderr.splitlines()[0]


def test_errors_of_another_rank_end_all_ranks(tmp_path):
    ended = on_ranks(3, *command(tmp_path / "s"), around=on_rank_1('exec "$@" --seed 1'))
    assert ended.returncode == 2 and ended.stderr.count("tamis: ") == 1
    assert "tamis: rank 1 cannot take part: it has another grid" in ended.stderr
    ended = on_ranks(3, *command(tmp_path / "s"), around=on_rank_1('exec "$@" --set width=1'))
    assert ended.returncode == 2 and ended.stderr.count("tamis: ") == 1
    assert "tamis: rank 1: fig3 has no axis 'width'" in ended.stderr


def test_under_mpirun_only_rank_0_speaks(tmp_path):
    assert on_ranks(3, *command(tmp_path / "s", "--dry-run")).stdout.count("to compute") == 1
    on_ranks(2, *command(tmp_path / "s"))
    assert (
        on_ranks(3, "sweep", "status", "--store", tmp_path / "s").stdout.count("points done") == 1
    )


@pytest.mark.parametrize("rank", [0, 1])
def test_mpirun_without_the_module_is_told(rank, tmp_path):
    (tmp_path / "libtamis-mpi.so").write_text("not a library")
    env = os.environ | {
        "OMPI_COMM_WORLD_SIZE": "2",
        "OMPI_COMM_WORLD_RANK": str(rank),
        "LD_LIBRARY_PATH": str(tmp_path),
    }
    said = sentence_of(tamis(*command(tmp_path / "s"), status=2, env=env))
    who = "rank 1: " if rank == 1 else ""
    assert said.startswith(f"{who}mpirun started tamis, but libtamis-mpi.so cannot be used")


def test_a_rank_without_the_module_ends_those_that_wait_for_it(tmp_path):
    (tmp_path / "libtamis-mpi.so").write_text("not a library")
    words = f'export LD_LIBRARY_PATH="{tmp_path}"; exec "$@"'
    ended = end_of(start_on_ranks(3, *command(tmp_path / "s"), around=on_rank_1(words)))
    assert ended.returncode == 2 and ended.stdout == ""
    assert "tamis: rank 1: mpirun started tamis, but libtamis-mpi.so cannot be used" in ended.stderr
    assert not (tmp_path / "s").exists()
