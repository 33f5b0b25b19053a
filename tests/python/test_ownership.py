"""Who owns which memory, and how much of it there is."""

import gc
import subprocess
import sys
import weakref

import numpy as np
import pytest
import tamis
from engine_cases import case, filled, same_bits


def test_results_outlive_their_cache():
    q, k, v = case(1, 3000)
    cache = filled(k, v)
    found = cache.attend(q)
    copies = found.out.copy(), found.lse.copy(), found.certificates.copy()
    del cache
    gc.collect()
    others = [filled(k[::-1], v[::-1]) for _ in range(3)]  # take the memory that became free
    for each, copy in zip((found.out, found.lse, found.certificates), copies, strict=True):
        same_bits(each, copy)
        assert each.flags.writeable and (each.flags.owndata or each.base.flags.owndata)
    del others


def test_a_cache_outlives_its_arrays():
    q, k, v = case(2, 3000)
    cache = filled(k, v)
    before = cache.attend(q)
    k[...], v[...] = np.nan, np.nan
    del k, v
    same_bits(cache.attend(q), before)


@pytest.mark.parametrize("budget", [None, "mass:0.1"])
def test_no_call_keeps_an_array(budget):
    arrays = case(3, 300)
    held = [sys.getrefcount(x) for x in arrays]
    tamis.attend(*arrays, budget)
    with pytest.raises(tamis.Error):
        tamis.attend(*arrays, budget, seen=[1000])
    assert [sys.getrefcount(x) for x in arrays] == held


def test_a_cache_is_freed_when_nobody_holds_it():
    cache = filled(*case(4, 300)[1:])
    gone = weakref.ref(cache)
    del cache
    gc.collect()
    assert gone() is None


MEMORY = """
import re, sys
import numpy as np, tamis

def resident():
    with open("/proc/self/smaps_rollup") as rollup:
        return 1024 * int(re.search(r"Rss: +(\\d+)", rollup.read())[1])

kv = np.random.default_rng(0).standard_normal((2, 3000, 128), dtype=np.float32)
def fill(cache, sequences):
    for name in range(sequences):
        cache.add(name)
        cache.append(kv, kv, sequence=name)
def new():
    return tamis.Cache(8, 2, 128, dtype="f32", threads=1)

fill(new(), 1)  # scratch memory, code, the interpreter's own
cache = new()
before = resident()
fill(cache, 40)
after, stated, free = resident(), cache.nbytes, cache.free_nbytes
for name in range(40):
    cache.remove(name)
print(after - before, stated, free, resident() - before, cache.nbytes)
"""


def test_memory_grows_by_what_nbytes_says_and_is_given_back():
    done = subprocess.run(
        [sys.executable, "-c", MEMORY], check=True, capture_output=True, text=True
    )
    grown, stated, free, left, stated_left = map(int, done.stdout.split())
    # The kernel counts pages that are in use, of what is stated all but what is free. Around a call
    # Python's allocator may take one arena (1 MiB from 3.10 on), and malloc the memory for lists of
    # pages (stated, too) and up to 128 KiB more at a time.
    tolerance = (1 << 20) + 2 * (128 << 10)
    assert stated > 40 << 20
    assert stated - free - tolerance <= grown <= stated + tolerance
    assert stated_left == 0 and left <= tolerance
