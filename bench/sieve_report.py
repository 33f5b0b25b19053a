"""Tables of a run of the sieve's benchmark."""

import report

METHOD = """\
One decode step of all heads: torch and our own dense over K and V in bf16, ggml in f16 (the same
numbers), and in llama.cpp's quantised types q8_0 and q4_0 (their errors are measured, and no
speed is given relative to them), sparse attention over a cache in planes (`prefer` is time, or
bytes where it says so). All contenders run in one process on the same pinned cores, in an order
drawn anew for each repeat; times are medians. Repeat i takes queries i of a sequence for
everyone. Before each run all idle thread pools have gone to sleep and the caches, K, V and planes
among them, are emptied by reading a buffer of at least four times the last cache on every core.
The first two steps of every case are compared with attention in f64: torch, ggml and dense tamis
within a bound derived from their arithmetic, sparse attention within its own certificate,
quantised caches without any bound; a run with a violation writes no result. Bytes are those of
the certificates, headers and raw tokens included, as a share of K and V in bf16, counted once per
KV head and step. All data are synthetic: bench/sieve_data.py says how they are made, as does the
end of this page. Filling a cache starts from nothing and includes the allocation; reading is K
and V once at the measured bandwidth; "process" is by how much the process's own memory grows. A
batch is a step of 16 sequences, 1 to 32 thousand tokens long in equal ratios, mass:0.05 at 12
bits, in one call and in 16. Appends add one token of all heads at a time to a long sequence,
eight blocks of 128; the mean includes their coding, and the longest append codes one block of
every head."""


def add_ratios(results, dense):
    """Adds to each of tamis' results its speed relative to dense tamis, and to the fastest peer
    that reads keys and values in 16 bits."""
    peers = [r["ms"] for r in results if r["owner"] != "tamis" and "relative_error" not in r]
    own = next(r["ms"] for r in results if r["name"] == dense)
    for ours in (r for r in results if r["owner"] == "tamis"):
        ours["ratio_fastest"] = min(peers) / ours["ms"]
        ours["ratio_dense"] = own / ours["ms"]


def decode_cells(case, result):
    name = result["name"] + (f" ({result['layout']})" if result["layout"] else "")
    row = [str(case["n"]), str(case["threads"]), name, f"{result['ms']:.2f}"]
    row += [f"{result[r]:.2f}" if r in result else "" for r in ("ratio_fastest", "ratio_dense")]
    if "relative_error" not in result:
        return row + [""] * 5
    proven = [""] * 3
    if "tau" in result:
        tau = result["tau"]
        proven = [f"{tau['median']:.4f}", f"{tau['p90']:.4f}", f"{result['reached']:.0%}"]
    return [
        *row,
        f"{result['bytes_share']['median']:.3f}",
        *proven,
        f"{result['relative_error']['median']:.2g}",
    ]


def decode_section(family, shape, cases):
    head = ["n", "threads", "contender", "ms", "× fastest peer", "× own dense"]
    head += ["bytes", "tau", "p90", "met", "true error"]
    rows = [decode_cells(case, r) for case in cases for r in report.better_layouts(case["results"])]
    return f"Decode, {family}: {shape}", report.table([head, *rows])


def sieves(cases):
    return [(c, r) for c in cases for r in c["results"] if "tau" in r]


def glance_section(cases):
    """Returns a table at the longest context with one row for each data, shape and number of
    threads, and one column for each budget."""
    longest = max(case["n"] for case in cases)
    names = list(dict.fromkeys(r["name"] for _, r in sieves(cases)))
    rows = []
    for which, mine in groups(
        (case for case in cases if case["n"] == longest), "data", "shape", "threads"
    ):
        found = {r["name"]: r for _, r in sieves(mine)}
        rows.append(
            [str(x) for x in which]
            + [
                f"{found[n]['ratio_fastest']:.2f} × peer, {found[n]['ratio_dense']:.2f} × dense"
                for n in names
            ]
        )
    return f"At a glance, n = {longest}: × the fastest outside peer, × our own dense", report.table(
        [["data", "heads", "threads", *names], *rows], text=(0, 1)
    )


def cache_section(costs):
    head = [
        "d",
        "KV heads",
        "n",
        "bits",
        "threads",
        "memory / bf16",
        "process",
        "fill ms",
        "read ms",
        "fill / read",
    ]
    head += ["append µs per head and token", "longest append µs"]
    rows = [
        [
            str(c["d"]),
            str(c["kv_heads"]),
            str(c["n"]),
            str(c["bits"]),
            str(c["threads"]),
            f"{c['share']:.3f}",
            f"{c['grown']:.3f}",
            f"{c['fill_ms']:.2f}",
            f"{c['read_ms']:.2f}",
            f"{c['fill_ms'] / c['read_ms']:.2f}",
            f"{c['append_us']:.3f}",
            f"{c['longest_append_us']:.0f}",
        ]
        for c in costs
    ]
    return "The cache", report.table([head, *rows], text=())


def batch_section(batches):
    head = ["heads", "threads", "one call ms", "16 calls ms", "16 calls / one"]
    rows = [
        [
            b["shape"],
            str(b["threads"]),
            f"{b['batch_ms']:.2f}",
            f"{b['one_by_one_ms']:.2f}",
            f"{b['one_by_one_ms'] / b['batch_ms']:.2f}",
        ]
        for b in batches
    ]
    return "A batch of 16 sequences of unequal length", report.table([head, *rows], text=(0,))


def groups(entries, *keys):
    """Groups entries by the values of these keys, in the order in which they come."""
    made = {}
    for entry in entries:
        made.setdefault(tuple(entry[key] for key in keys), []).append(entry)
    return made.items()


def sections(run):
    return [
        glance_section(run["cases"]),
        *(decode_section(*which, cases) for which, cases in groups(run["cases"], "data", "shape")),
        batch_section(run["batches"]),
        cache_section(run["cache"]),
        ("Data", run["data"]),
    ]


def verdicts(run, worst_cases):
    """Returns the ranges over shapes and numbers of threads at the longest context."""
    longest = max(case["n"] for case in run["cases"])
    lines = []
    names = list(dict.fromkeys(r["name"] for _, r in sieves(run["cases"])))
    chosen = [(c, r) for c, r in sieves(run["cases"]) if c["n"] == longest]
    for family in dict.fromkeys(c["data"] for c, _ in chosen):
        for name in names:
            mine = [r for c, r in chosen if c["data"] == family and r["name"] == name]
            dense = [r["ratio_dense"] for r in mine]
            if family in worst_cases:
                lines.append(
                    f"{family}, {name}: {1 / max(dense):.2f} to {1 / min(dense):.2f} × the time of our own dense"
                )
                continue
            peer = [r["ratio_fastest"] for r in mine]
            lines.append(
                f"{family}, {name}: {min(dense):.2f} to {max(dense):.2f} × our own dense, "
                f"{min(peer):.2f} to {max(peer):.2f} × the fastest outside peer"
            )
    ratios = [c["fill_ms"] / c["read_ms"] for c in run["cache"]]
    for (shape,), mine in groups(run["batches"], "shape"):
        if len(mine) > 1:
            faster = mine[0]["batch_ms"] / mine[-1]["batch_ms"]
            lines.append(
                f"a batch of 16 sequences, {shape}: {faster:.2f} × faster with 2 threads than with 1"
            )
    lines.append(
        f"filling a cache: {min(ratios):.1f} to {max(ratios):.1f} × reading keys and values once"
    )
    return lines
