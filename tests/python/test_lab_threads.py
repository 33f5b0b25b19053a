"""Long calls let other threads run, and may be made from several at once."""

import threading
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import tamis
from conftest import DATA, ROOT

PATTERN = ROOT / "data" / "pattern-32.mtx"


def test_other_threads_run_during_a_long_call():
    random = np.random.default_rng(3)
    a = (random.random((40, 30)) < 0.3) * 1.0
    a[a.sum(axis=1) == 0, 0] = 1
    steps, ended = [], threading.Event()

    def count():
        while not ended.wait(0.01):
            steps.append(1)

    other = threading.Thread(target=count)
    other.start()
    tamis.decide(a, time_limit=1, solvers=False)
    ended.set()
    other.join()
    # Dozens of waits fit into the call; were the GIL held, there would be one or two.
    assert len(steps) > 5


def test_results_do_not_depend_on_the_thread_that_asks():
    trace = tamis.load_trace(DATA)
    pattern = tamis.load_pattern(PATTERN)

    def work(_):
        return (
            tamis.profile(trace, layers=[12]).to_json(),
            tamis.realise(pattern, 4, steps=100).q.tobytes(),
            tamis.verify(pattern, ROOT / "data" / "witness-32.safetensors").margin,
        )

    alone = work(0)
    with ThreadPoolExecutor(3) as pool:
        assert all(found == alone for found in pool.map(work, range(6)))


def test_an_exception_of_progress_in_a_thread_is_raised_there():
    def stop(done, total):
        raise ValueError("enough")

    with ThreadPoolExecutor(1) as pool:
        failed = pool.submit(tamis.realise, PATTERN, 4, progress=stop)
        assert isinstance(failed.exception(), ValueError)
