"""The demo page's part on growth with n, and the pages that `make sweeps` writes."""

import json
import os
import re
import subprocess
import sys

import pytest
from chart_texts import expect_room
from conftest import ROOT, tamis

pytest.importorskip("altair")
pytest.importorskip("vl_convert")
sys.path.insert(0, str(ROOT / "tools"))

AXES = ["n=32,48,64,96", "k=1", "eps1=0.5", "matrices=2", "step=4"]


def small_sweep(folder):
    words = [word for axis in AXES for word in ("--set", axis)]
    done = tamis(
        "sweep",
        "fig3",
        *words,
        "--store",
        folder / "s.sqlite",
        "--vega",
        folder / "fig3.vl.json",
        "--json",
    )
    (folder / "fig3.json").write_text(done.stdout)
    return json.loads(done.stdout)


def test_the_section_says_what_the_sweep_said_and_draws_its_chart(tmp_path):
    import demo_sweep

    report = small_sweep(tmp_path)
    page = demo_sweep.section(tmp_path / "fig3.json", tmp_path / "fig3.vl.json")
    text = re.sub(r"<[^>]*>", "", page)
    assert "<svg" in page
    for words in (*report["fits"][1], "8 of 8 points"):
        assert words in text
    assert "d = a + b log n" in text


def test_nothing_in_a_report_can_become_markup(tmp_path):
    import demo_sweep

    report = small_sweep(tmp_path)
    report["sentences"][0] = "<script>alert(1)</script>"
    report["fits"][1][0] = "<b>x</b>"
    (tmp_path / "fig3.json").write_text(json.dumps(report))
    chart = json.loads((tmp_path / "fig3.vl.json").read_text())
    chart["data"]["values"][0]["setup"] = "</svg><script>alert(2)</script>"
    (tmp_path / "fig3.vl.json").write_text(json.dumps(chart))
    page = demo_sweep.section(tmp_path / "fig3.json", tmp_path / "fig3.vl.json")
    assert "<script" not in page
    assert "<b>x</b>" not in page


def write_pages(folder, *words):
    command = [
        sys.executable,
        ROOT / "bench" / "sweeps.py",
        "--program",
        os.environ["TAMIS_PROGRAM"],
        "--folder",
        folder,
    ]
    return subprocess.run([*command, *words], capture_output=True, text=True)


def test_pages_of_sweeps_are_written_one_by_one_into_one_index(tmp_path):
    axes = [word for axis in AXES for word in ("--set", f"fig3:{axis}")]
    assert write_pages(tmp_path, "--only", "fig3", *axes).returncode == 0
    axes = [
        "--set",
        "fig4:n=32,48",
        "--set",
        "fig4:k=1",
        "--set",
        "fig4:matrices=1",
        "--set",
        "fig4:curve_from=9999",
    ]
    assert write_pages(tmp_path, "--only", "fig4", *axes).returncode == 0
    index = (tmp_path / "sweeps.md").read_text()
    assert index.count("\n## ") == 2
    for name in ("fig3", "fig4"):
        assert f"(sweeps/{name}.svg)" in index
        expect_room((tmp_path / "sweeps" / f"{name}.svg").read_text())
        page = (tmp_path / "sweeps" / f"{name}.md").read_text()
        assert "## Table" in page and str(tmp_path) not in page + index
    done = write_pages(tmp_path, "--only", "fig5")
    assert done.returncode == 2 and "fig5" in done.stderr
