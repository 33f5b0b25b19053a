"""Runs all sweeps at full size into one store that is kept, and writes pages of their results.

    bench/sweeps.py --program build/release/cli/tamis [--only fig3,fig4] [--ranks 2]
                    [--set fig3:n=512,768,1024]

Results that the store already has are not computed again. Every sweep has a page in
FOLDER/sweeps with its command, sentences, chart and tables, and a paragraph in
FOLDER/sweeps.md.
"""

import argparse
import datetime
import json
import os
import shlex
import subprocess
import sys
from pathlib import Path

from machine import cpu_model

ROOT = Path(__file__).resolve().parents[1]
sys.path.append(str(ROOT / "tools"))
NAMES = ["fig3", "fig4", "frontier", "window", "length", "norm", "violation", "alpha", "collapse"]
INTRODUCTION = """# The papers' experiments, run again

This page was written by `make sweeps`. Points with their parameters, seed, result and time are
kept in [sweeps/sweeps.sqlite](sweeps/sweeps.sqlite), which the same commands resume; those of the
second paper's sweeps, a minute each to make again, are left out of it.
[experiments.md](../experiments.md) says what is asked and how it is judged. The sentences are the
program's. In fig3 and fig4 d is the paper's, twice the number of columns."""
WITH_TRACE = {"window", "length", "norm", "alpha", "collapse"}


def markdown(rows):
    """Returns a Markdown table whose first row is the heading. The first column is aligned to the
    left."""
    heading, *body = ([cell.replace("|", "\\|") for cell in row] for row in rows)
    rule = ["---"] + ["---:"] * (len(heading) - 1)
    return "\n".join("| " + " | ".join(row) + " |" for row in [heading, rule, *body])


def duration(seconds):
    return f"{seconds:.0f} s" if seconds < 120 else f"{seconds / 60:.0f} min"


def run(options, name):
    """Runs one sweep. Returns its report, its chart and the command as a reader would type it."""
    chart = options.folder / "sweeps" / f"{name}.vl.json"
    words = ["sweep", name, "--store", str(options.store)]
    for value in options.set:
        sweep, _, axis = value.partition(":")
        if sweep == name:
            words += ["--set", axis]
    if name in WITH_TRACE:
        words += ["--trace", str(options.trace)]
    program = [str(options.program)]
    asked = ["--report"] if options.report else []
    if options.ranks > 1:
        program = ["mpirun", "-n", str(options.ranks), *program]
    done = subprocess.run(
        [*program, *words, *asked, "--vega", str(chart), "--json"],
        stdout=subprocess.PIPE,
        text=True,
    )
    if done.returncode not in (0, 3) or not done.stdout:
        sys.exit(f"bench/sweeps.py: tamis sweep {name} ended with status {done.returncode}")
    report = json.loads(done.stdout)
    if report["done"] < report["points"]:
        words += asked
    shown = [Path(word).name if "/" in word else word for word in words]
    return report, chart, "tamis " + shlex.join(shown)


def page(report, command, name, load):
    """Returns the page of one sweep. What comes before its first table is also in the index."""
    seconds = [result["seconds"] for result in report["results"]]
    failed = f", {report['failed']} failed" if report["failed"] else ""
    parts = [
        f"# {name}",
        *report["sentences"],
        f"![{name}]({name}.svg)",
        "\n".join(
            [
                f"- Command: `{command}`, {datetime.date.today()}, tamis {', '.join(report['made_by'])}",
                f"- Machine: {cpu_model()}, {len(os.sched_getaffinity(0))} cores, load {load:.1f} before the run",
                f"- Points: {report['done']} of {report['points']}{failed}; {duration(sum(seconds))} of thread time, the longest {duration(max(seconds, default=0))}",
            ]
        ),
    ]
    if report["fits"]:
        parts += ["## Fits", markdown(report["fits"])]
    parts += ["## Table", markdown(report["table"])]
    return "\n\n".join(parts) + "\n"


def index(folder):
    """Returns the index, made of the beginnings of all pages that exist."""
    parts = [INTRODUCTION]
    for name in NAMES:
        file = folder / "sweeps" / f"{name}.md"
        if not file.exists():
            continue
        head, _, _ = file.read_text().partition("\n## ")
        head = head.replace(f"# {name}", f"## {name}", 1).replace(
            f"({name}.svg)", f"(sweeps/{name}.svg)"
        )
        parts.append(head.strip() + f"\n- All numbers: [sweeps/{name}.md](sweeps/{name}.md)")
    return "\n\n".join(parts) + "\n"


def main():
    from chart_svg import chart_svg

    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument(
        "--program", type=Path, default=ROOT / "build" / "release" / "cli" / "tamis"
    )
    parser.add_argument(
        "--trace", type=Path, default=ROOT / "data" / "smollm2-kjv-8k-small.safetensors"
    )
    parser.add_argument("--store", type=Path, help="default: FOLDER/sweeps/sweeps.sqlite")
    parser.add_argument("--only", default=",".join(NAMES), help="sweeps, with commas between")
    parser.add_argument(
        "--set", action="append", default=[], metavar="SWEEP:AXIS=V,…", help="values of an axis"
    )
    parser.add_argument("--report", action="store_true", help="compute nothing, tell what is done")
    parser.add_argument("--ranks", type=int, default=1, help="run under mpirun with so many")
    parser.add_argument(
        "--folder", type=Path, default=ROOT / "docs" / "results", help="where the pages go"
    )
    options = parser.parse_args()
    (options.folder / "sweeps").mkdir(parents=True, exist_ok=True)
    options.store = options.store or options.folder / "sweeps" / "sweeps.sqlite"
    chosen = options.only.split(",")
    if unknown := set(chosen) - set(NAMES):
        parser.error(
            f"there is no sweep {', '.join(sorted(unknown))}; available: {', '.join(NAMES)}"
        )

    for name in (name for name in NAMES if name in chosen):
        print(f"{name} …", file=sys.stderr, flush=True)
        load = os.getloadavg()[0]
        report, chart, command = run(options, name)
        if report["done"] == 0:  # keeps the page made from an earlier store
            chart.unlink()
            print(f"nothing of {name} is done", file=sys.stderr)
            continue
        chart.with_name(f"{name}.svg").write_text(chart_svg(json.loads(chart.read_text())))
        chart.unlink()
        text = page(report, command, name, load)
        (options.folder / "sweeps" / f"{name}.md").write_text(text)
    (options.folder / "sweeps.md").write_text(index(options.folder))
    print(options.folder / "sweeps.md")


if __name__ == "__main__":
    main()
