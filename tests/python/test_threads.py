"""Threads of Python: they work at once, get the same bits, and cannot corrupt a cache."""

import threading
import time
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
import tamis
from engine_cases import case, filled, numbers, same_bits


def test_many_threads_attend_over_one_cache_with_the_same_bits():
    q, k, v = case(1, 5000, queries=4)
    cache = filled(k, v)
    budgets = ["mass:0.05", "topk:50", "bytes:0.3", "mass:0.3"]
    expected = {budget: cache.attend(q, budget) for budget in budgets}
    with ThreadPoolExecutor(8) as pool:
        jobs = [(budget, pool.submit(cache.attend, q, budget)) for budget in budgets * 25]
        for budget, job in jobs:
            same_bits(job.result(), expected[budget])


def test_sequences_may_change_at_once():
    lengths = [300, 1500, 2600, 700] * 4
    parts = [case(i, tokens)[1:] for i, tokens in enumerate(lengths)]
    q = numbers(1, (4, 1, 32))
    cache = tamis.Cache(4, 2, 32, 24, dtype="f32")

    def live(name):
        k, v = parts[name]
        cache.add(name)
        for first in range(0, k.shape[1], 250):
            cache.append(k[:, first : first + 250], v[:, first : first + 250], sequence=name)
        cache.fork(100 + name, 200, sequence=name)
        return cache.attend(q, sequence=name), cache.attend(q, sequence=100 + name)

    with ThreadPoolExecutor(8) as pool:
        together = list(pool.map(live, range(len(parts))))
    cache = tamis.Cache(4, 2, 32, 24, dtype="f32")
    for name, found in enumerate(together):
        for one, other in zip(found, live(name), strict=True):
            same_bits(one, other)


class Long(threading.Thread):
    """A call that takes a while; `begin` and `end` are when it ran."""

    def __init__(self, call):
        super().__init__()
        self.call, self.begin, self.end, self.error = call, None, None, None

    def run(self):
        self.begin = time.perf_counter()
        try:
            self.call()
        except tamis.Error as error:
            self.error = error
        self.end = time.perf_counter()


BIG = numbers(2, (2, 60000, 128))


def long_calls():
    """Calls of a tenth of a second and more."""
    q = numbers(3, (2, 300, 128))
    cache = filled(BIG, BIG, query_heads=2, threads=1)
    return {
        "append": lambda: filled(BIG, BIG, threads=1),
        "attend": lambda: cache.attend(q),
        "dense": lambda: tamis.attend(q, BIG, BIG, threads=1),
    }


@pytest.mark.parametrize("name", ["append", "attend", "dense"])
def test_other_threads_go_on_during_a_call(name):
    call = long_calls()[name]
    # On a busy machine this thread may not run for a while. But had the call held the interpreter's
    # lock, it would never run in the middle of a call.
    for _ in range(20):
        thread, ticks = Long(call), []
        thread.start()
        while thread.is_alive():
            ticks.append(time.perf_counter())
        thread.join()
        assert thread.error is None
        third = (thread.end - thread.begin) / 3
        if any(thread.begin + third < tick < thread.end - third for tick in ticks):
            return
    pytest.fail("this thread stood still during every call")


def test_a_call_beside_one_that_changes_its_sequence_is_an_error():
    cache = tamis.Cache(4, 2, 128, dtype="f32", threads=1)
    q = np.ones((4, 1, 128), np.float32)
    for name in (0, 1):
        cache.add(name)
    cache.append(BIG[:, :10], BIG[:, :10])
    reads = {
        "attend": lambda: cache.attend(q, sequences=[1, 0], queries=[0, 1]),
        "tokens": cache.tokens,
        "truncate": lambda: cache.truncate(5),
        "fork": lambda: cache.fork(9),
    }
    for name, call in reads.items():
        caught = None
        while caught is None:  # until a call falls into the time of another
            thread = Long(lambda: cache.append(BIG, BIG))
            thread.start()
            while thread.is_alive() and caught is None:
                try:
                    call()
                    if name == "fork":
                        cache.remove(9)
                except tamis.Error as error:
                    caught = error
                cache.tokens(1)  # another sequence may be used
            thread.join()
            cache.truncate(10)
        assert "another thread uses sequence 0" in str(caught) and caught.code == "usage", name
        # Nothing is left behind by the call that failed.
        assert cache.attend(q).out.shape == q.shape
