"""The machine a benchmark runs on: its cores, its description, its memory bandwidth and how to
empty its caches."""

import contextlib
import ctypes
import datetime
import os
import platform
import re
import subprocess
import time
from ctypes import POINTER, c_double, c_int, c_size_t, c_void_p
from importlib.metadata import version
from pathlib import Path

from memory import allocate

BUFFER = 1 << 30  # bytes of the buffer on which bandwidth is measured


def first_line(command):
    try:
        done = subprocess.run(
            command, capture_output=True, text=True, check=True, cwd=Path(__file__).parent
        )
    except (OSError, subprocess.CalledProcessError):
        return "unknown"
    return (done.stdout.splitlines() or [""])[0]


def cpu_model():
    found = re.search(r"^model name\s*:\s*(.*)$", Path("/proc/cpuinfo").read_text(), re.MULTILINE)
    return found[1] if found else platform.machine()


def last_cache_bytes():
    caches = Path("/sys/devices/system/cpu/cpu0/cache").glob("index*/size")
    sizes = [
        int(text[:-1]) << {"K": 10, "M": 20}[text[-1]]
        for text in (c.read_text().strip() for c in caches)
    ]
    return max(sizes, default=32 << 20)


def tree():
    commit = first_line(["git", "rev-parse", "HEAD"])
    clean = first_line(["git", "status", "--porcelain", "--untracked-files=no"]) == ""
    return commit if clean else f"{commit} with local changes"


def facts(command, load):
    """Returns the lines about a run with which a page of results begins."""
    date = datetime.datetime.now(datetime.UTC).strftime("%Y-%m-%d %H:%M UTC")
    cores = len(os.sched_getaffinity(0))
    return "\n".join(
        [
            f"- Command: `{command}`, {date}, commit {tree()}",
            f"- Machine: {cpu_model()}, {cores} cores, {last_cache_bytes() >> 20} MiB last cache, load {load:.2f} before the run",
            f"- Compiler: {first_line([os.environ.get('CXX', 'g++'), '--version'])}",
        ]
    )


def tasks():
    """Returns the thread ids of this process."""
    return [int(name) for name in os.listdir("/proc/self/task")]


def state(task):
    """Returns a thread's state: R while it runs or is ready, S while it sleeps, "gone" after its
    end."""
    try:
        return Path(f"/proc/self/task/{task}/stat").read_text().rpartition(")")[2].split()[0]
    except (FileNotFoundError, ProcessLookupError):
        return "gone"


class Machine:
    """Everything is pinned to `cores`, in order: thread 0 runs on the first."""

    def __init__(self, library, cores):
        self.native = ctypes.CDLL(str(library))
        self.native.bench_read_bandwidth.restype = c_double
        self.native.bench_read_bandwidth.argtypes = [
            c_void_p,
            c_size_t,
            POINTER(c_int),
            c_int,
            c_int,
        ]
        self.native.bench_evict.argtypes = [c_void_p, c_size_t, POINTER(c_int), c_int]
        self.cores = cores
        self.buffer = allocate((BUFFER // 8,), "u8")
        self.buffer += 1  # pages that were never written have no memory
        self.evicted = min(BUFFER, max(128 << 20, 4 * last_cache_bytes()))

    def array(self):
        return (c_int * len(self.cores))(*self.cores)

    def read_bandwidth(self, threads, passes):
        """Returns the best bytes per second that `threads` cores read together, over several
        access patterns."""
        return self.native.bench_read_bandwidth(
            self.buffer.ctypes.data, BUFFER, self.array(), threads, passes
        )

    def settle(self):
        """Waits until all other threads sleep. An OpenMP pool spins for some 10 ms after its work
        on the core that the next contender's pool needs."""
        deadline = time.monotonic() + 5
        while any(state(task) == "R" for task in tasks() if task != os.getpid()):
            if time.monotonic() > deadline:
                raise RuntimeError(
                    "a thread of this process is still busy 5 s after its work was done"
                )
            time.sleep(0.001)

    def evict(self):
        """Empties the caches of all cores."""
        self.native.bench_evict(
            self.buffer.ctypes.data, self.evicted, self.array(), len(self.cores)
        )

    def pin(self, threads):
        """Pins this thread to the first core and every pool's workers, whichever library made
        them, to the others."""
        main = os.getpid()
        others = set(self.cores[1:threads]) or set(self.cores)
        for task in tasks():
            with contextlib.suppress(ProcessLookupError):  # the thread has ended meanwhile
                os.sched_setaffinity(task, {self.cores[0]} if task == main else others)

    def unpin(self):
        """Lets threads that are made after this call run on all cores of the benchmark."""
        os.sched_setaffinity(0, set(self.cores))

    def describe(self, peers):
        ggml = peers / "ggml" / "source" / "CMakeLists.txt"
        parts = dict(re.findall(r"set\(GGML_VERSION_(\w+) (\d+)\)", ggml.read_text()))
        return {
            "date": datetime.datetime.now(datetime.UTC).strftime("%Y-%m-%d %H:%M UTC"),
            "commit": tree(),
            "cpu": cpu_model(),
            "cores": self.cores,
            "last_cache_mib": last_cache_bytes() >> 20,
            "memory_gib": round(os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30),
            "kernel": platform.release().split("-")[0],
            "compiler": first_line([os.environ.get("CXX", "g++"), "--version"]),
            "torch": version("torch"),
            "numpy": version("numpy"),
            "ggml": ".".join(parts.get(p, "?") for p in ("MAJOR", "MINOR", "PATCH"))
            + f" ({(peers / 'ggml' / 'version').read_text().strip()})",
            "load_before": round(os.getloadavg()[0], 2),
        }
