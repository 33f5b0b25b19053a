"""Keys and values that every contender reads from the same kind of memory, and facts about that
memory.

K and V lie in anonymous mappings with MADV_HUGEPAGE, for all contenders alike. Their numbers
have at most 8 significant bits, so that f32, f16 and bf16 hold the same values exactly. One
exact result is then the reference for all, and no contender is charged for rounding the input.
"""

import mmap
import re
from pathlib import Path

import numpy as np


def allocate(shape, dtype):
    """Returns a zeroed array in its own mapping, in huge pages where the kernel provides them."""
    dtype = np.dtype(dtype)
    # Private, because the kernel treats shared anonymous memory as shmem, which rarely has huge
    # pages.
    flags = mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS
    pages = mmap.mmap(-1, max(1, int(np.prod(shape)) * dtype.itemsize), flags=flags)
    if hasattr(mmap, "MADV_HUGEPAGE"):
        pages.madvise(mmap.MADV_HUGEPAGE)
    return np.frombuffer(pages, dtype, int(np.prod(shape))).reshape(shape)


def resident():
    """Returns the bytes of this process that are resident in memory."""
    return int(Path("/proc/self/statm").read_text().split()[1]) * mmap.PAGESIZE


def huge_share():
    """Returns the share of this process's anonymous memory that lies in huge pages."""
    text = Path("/proc/self/smaps_rollup").read_text()
    kilobytes = {
        name: int(value) for name, value in re.findall(r"^(\w+):\s+(\d+) kB", text, re.MULTILINE)
    }
    return kilobytes.get("AnonHugePages", 0) / max(1, kilobytes.get("Anonymous", 0))


def normal(rng, shape, steps_per_sigma, sigma=1.0):
    """Returns normal deviates on a grid of sigma / steps_per_sigma, a power of two, with 8
    significant bits."""
    out = allocate(shape, np.float32)
    for part in (
        out.reshape(-1, shape[-1] * 256) if out.size % (shape[-1] * 256) == 0 else [out.reshape(-1)]
    ):
        drawn = rng.standard_normal(part.shape, dtype=np.float32)
        np.clip(np.rint(drawn * steps_per_sigma), -255, 255, out=drawn)
        np.multiply(drawn, sigma / steps_per_sigma, out=part)
    return out


def to_bf16(x):
    """Returns the bits of x as bfloat16. This is exact because `normal` leaves the lower half
    zero."""
    out = allocate(x.shape, np.uint16)
    np.right_shift(x.view(np.uint32), 16, out=out, casting="unsafe")
    return out


def to_f16(x):
    out = allocate(x.shape, np.float16)
    out[...] = x
    return out
