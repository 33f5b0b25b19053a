"""What the index costs: memory, building it, and extending it after every token."""

import statistics

import contenders
import harness
import report
from tamis_c import Index, Workspace

APPENDED = 1024  # tokens


class Build:
    """An index over all tokens, from nothing; its memory is allocated within the time."""

    def __init__(self, library, pages, threads):
        self.native, self.pages = library, pages
        self.workspace = Workspace(library, threads)
        self.index = None

    def forget(self):
        self.index = None

    def run(self):
        self.index = Index(self.native, "bf16", self.pages, self.workspace)


def index_cost(machine, library, probe, options, shape, inputs, threads):
    """Building against one dense decode step, which reads K and V once, and the cost of appends."""
    k, v = inputs.kv["bf16"]
    n = k.shape[1]
    machine.unpin()
    dense = contenders.Tamis(library, "bf16", inputs.q[0], k, v, shape.scale, threads)
    build = Build(library, dense.pages, threads)
    for contender in (dense, build):
        contender.run()
    probe.append(k, v, 1, threads)
    machine.pin(threads)  # the pools that these have made
    dense_times, build_times = harness.interleave(
        machine, [dense, build], max(3, options.repeats // 2), seed=n, before=lambda *_: build.forget()
    )
    build.run()
    appended = min(APPENDED, n // 2)
    machine.settle()
    appends = [probe.append(k, v, appended, threads) for _ in range(3)]
    return {
        "shape": str(shape),
        "d": shape.d,
        "kv_heads": shape.kv_heads,
        "n": n,
        "threads": threads,
        "bytes": k.nbytes + v.nbytes,
        "index_share": build.index.bytes() / (k.nbytes + v.nbytes),
        "build": report.summary(build_times),
        "dense": report.summary(dense_times),
        "appended": appended,
        "append_us": statistics.median(a[0] for a in appends) / (appended * shape.kv_heads) * 1e6,
        "longest_append_us": statistics.median(a[1] for a in appends) * 1e6,
    }
