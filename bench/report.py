"""Tables of a benchmark run: the same rows for the terminal, for Markdown and for JSON."""

import json
import os
import statistics

METHOD = """\
All contenders run in one process on the same pinned cores, in an order drawn anew for each repeat; times
are medians. Before each run all idle thread pools have gone to sleep (an OpenMP pool spins for a while
after its work, which would cost the next contender a core), and the caches are emptied by reading a buffer
of at least four times the last cache on every core, since a decode step finds K and V cold. K and V hold the same numbers for all (at most 8
significant bits, so exact in f32, f16 and bf16), in mappings of the same kind. Every contender's output is
compared with attention in f64 before it is timed, within a bound derived from its arithmetic
(bench/exact.py); a contender that is wrong is not timed. torch and ggml are given the better of the layouts
of the query group: folded into the query length or grouped-query (prefill: grouped-query or K and V
repeated beforehand, untimed). GB/s counts K and V once. Read bandwidth is the best of several ways to read
1 GiB in the same process."""


def summary(times):
    """Returns statistics of one contender's seconds."""
    ordered = sorted(times)
    quarter = len(ordered) // 4
    return {
        "ms": statistics.median(ordered) * 1e3,
        "ms_best": ordered[0] * 1e3,
        "ms_quartiles": [ordered[quarter] * 1e3, ordered[-1 - quarter] * 1e3],
        "repeats": len(ordered),
    }


def better_layouts(results):
    """Returns, of results that differ only in layout, the fastest."""
    best = {}
    for result in results:
        seen = best.get(result["name"])
        if seen is None or result["ms"] < seen["ms"]:
            best[result["name"]] = result
    return list(best.values())


def add_ratios(results):
    """Adds to each of tamis' results its speed relative to every peer and to the fastest of
    them."""
    peers = [r for r in results if r["owner"] != "tamis"]
    for ours in (r for r in results if r["owner"] == "tamis"):
        ours["ratio"] = {peer["name"]: peer["ms"] / ours["ms"] for peer in peers}
        ours["ratio_fastest"] = min(ours["ratio"].values(), default=None)


def add_shares(cases, bandwidth):
    """Adds to every decode result its share of the bandwidth that the machine reaches with as many
    threads."""
    for case in cases:
        for result in case["results"]:
            if "bytes" in result:
                result["share"] = result["gb_per_s"] * 1e9 / bandwidth[case["threads"]]


def columns(mode, peers):
    rate = ["GB/s", "of read"] if mode == "decode" else ["GFLOP/s"]
    return ["n", "threads", "contender", "ms", *rate, *(f"× {p}" for p in peers), "× fastest peer"]


def cells(mode, peers, case, result):
    name = result["name"] + (f" ({result['layout']})" if result.get("layout") else "")
    rate = (
        [f"{result['gb_per_s']:.1f}", f"{result['share']:.0%}"]
        if mode == "decode"
        else [f"{result['gflop_per_s']:.0f}"]
    )
    ratio = result.get("ratio", {})
    fastest = result.get("ratio_fastest")
    return [
        str(case["n"]),
        str(case["threads"]),
        name,
        f"{result['ms']:.2f}",
        *rate,
        *(f"{ratio[p]:.2f}" if p in ratio else "" for p in peers),
        f"{fastest:.2f}" if fastest else "",
    ]


def table(rows, text=(2,)):
    """Returns a Markdown table that is aligned for a terminal. The columns in `text` are words,
    the others numbers."""
    widths = [max(len(row[i]) for row in rows) for i in range(len(rows[0]))]

    def line(row):
        padded = (
            c.ljust(w) if i in text else c.rjust(w)
            for i, (c, w) in enumerate(zip(row, widths, strict=True))
        )
        return "| " + " | ".join(padded) + " |"

    rule = (
        "|"
        + "|".join(" " + "-" * w + (" " if i in text else ":") for i, w in enumerate(widths))
        + "|"
    )
    return "\n".join([line(rows[0]), rule, *map(line, rows[1:])])


def section(mode, shape, cases):
    """Returns one table with all lengths and thread counts of a mode and shape."""
    heads, kv_heads, d = shape
    peers = list(
        dict.fromkeys(r["name"] for c in cases for r in c["results"] if r["owner"] != "tamis")
    )
    rows = [columns(mode, peers)]
    rows += [cells(mode, peers, case, r) for case in cases for r in better_layouts(case["results"])]
    title = {"decode": "Decode, one token", "prefill": "Prefill, causal"}[mode]
    return f"{title}: {heads} query heads, {kv_heads} KV heads, d = {d}", table(rows)


def verdicts(run):
    """Returns the ranges of the ratios for which the project has targets."""
    lines = []
    for mode, where, least in (("decode", " at n ≥ 32768", 32768), ("prefill", "", 0)):
        cases = [c for c in run["cases"] if c["mode"] == mode and c["n"] >= least]
        ours = [r for c in cases for r in c["results"] if r.get("ratio")]
        for name in dict.fromkeys(r["name"] for r in ours):
            mine = [r for r in ours if r["name"] == name]
            ratios = [r["ratio_fastest"] for r in mine]
            text = (
                f"{mode}{where}, {name}: {min(ratios):.2f} to {max(ratios):.2f} × the fastest peer"
            )
            if mode == "decode":
                shares = [r["share"] for r in mine]
                text += f", {min(shares):.0%} to {max(shares):.0%} of read bandwidth"
            lines.append(text)
    if any(r.get("share", 0) > 1 for c in run["cases"] for r in c["results"]):
        lines.append(
            "warning: a contender read faster than the bandwidth measured; the machine was busy: repeat"
        )
    return lines


def facts(run):
    machine = run["machine"]
    bandwidth = ", ".join(
        f"{v / 1e9:.1f} GB/s with {t} thread(s)" for t, v in run["bandwidth"].items()
    )
    rates = [
        f"{v['i16'] / 1e9:.0f} G/s of 16-bit integers and {v['f32'] / 1e9:.0f} G/s of f32 with {t} thread(s)"
        for t, v in run.get("arithmetic", {}).items()
    ]
    huge = min((case["huge_share"] for case in run["cases"]), default=0)
    return [
        f"Command: `{run['command']}`, {machine['date']}, commit {machine['commit']}",
        f"Machine: {machine['cpu']}, cores {machine['cores']}, {machine['last_cache_mib']} MiB last cache, "
        f"{machine['memory_gib']} GiB memory, Linux {machine['kernel']}, "
        f"load {machine['load_before']} before the run",
        f"Read bandwidth: {bandwidth}",
        *([f"Multiply-adds: {', '.join(rates)}"] if rates else []),
        f"Huge pages: at least {huge:.0%} of the process's memory while timing",
        f"Versions: tamis {machine['tamis']}, torch {machine['torch']}, ggml {machine['ggml']}, "
        f"numpy {machine['numpy']}, {machine['compiler']}",
    ]


def sections(run):
    groups = {}
    for case in run["cases"]:
        groups.setdefault((case["mode"], tuple(case["shape"])), []).append(case)
    return [section(mode, shape, cases) for (mode, shape), cases in groups.items()]


def write(path, text):
    """Writes under a temporary name first, so that a result file is never incomplete."""
    new = path.with_name(path.name + ".new")
    new.write_text(text)
    os.replace(new, path)


def save(run, options, name, title, tables):
    """Writes `name`.md to the folder for results and all numbers to `name`.json in the build
    folder. `tables` are pairs of a title and a text. Returns both paths."""
    page, numbers = options.out / f"{name}.md", options.build / f"results/{name}.json"
    for path in (page, numbers):
        path.parent.mkdir(parents=True, exist_ok=True)
    parts = [f"# {title}", run["method"]]
    parts.append("\n".join(f"- {fact}" for fact in facts(run)))
    if run["verdicts"]:
        parts.append("\n".join(f"- {verdict}" for verdict in run["verdicts"]))
    for heading, text in tables:
        parts += [f"## {heading}", text]
    write(page, "\n\n".join(parts) + "\n")
    write(numbers, json.dumps(run, indent=1) + "\n")
    return page, numbers


def publish(run, options, name, title, tables):
    """Prints the run on the terminal and writes it to files."""
    for heading, text in tables:
        print(f"{heading}\n{text}\n")
    print("\n".join([*run["verdicts"], *facts(run)]))
    page, numbers = save(run, options, name, title, tables)
    print(f"written to {os.path.relpath(page)} and {os.path.relpath(numbers)}")
