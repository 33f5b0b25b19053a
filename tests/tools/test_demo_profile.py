"""The demo page's part on a profile: heads without a law or a rule, and mismatched profiles."""

import json
import subprocess
import sys

import numpy as np
import pytest
from conftest import ROOT, make_tensors, save_trace, tamis

pytest.importorskip("altair")
pytest.importorskip("vl_convert")
sys.path.insert(0, str(ROOT / "tools"))


def make_page(folder, trace, profile):
    result, report = folder / "dense.safetensors", folder / "dense.json"
    done = tamis("attend", trace, "--dense", "--check", "--out", result, "--json")
    report.write_text(done.stdout)
    command = [
        sys.executable,
        ROOT / "tools" / "demo_page.py",
        trace,
        result,
        report,
        "--profile",
        profile,
    ]
    page = folder / "index.html"
    done = subprocess.run(
        [*command, "--page", page, "--head", "0:1"], capture_output=True, text=True, check=False
    )
    return done, page


@pytest.mark.parametrize("queries", [1, 5])
def test_too_few_queries_for_laws_and_rules_are_said(tmp_path, queries):
    trace = save_trace(tmp_path / "t.safetensors", make_tensors([0], tokens=600, queries=queries))
    tamis("profile", trace, "--out", tmp_path / "p.json")
    done, page = make_page(tmp_path, trace, tmp_path / "p.json")
    assert done.returncode == 0, done.stderr
    text = page.read_text()
    assert (
        "No head has an exponent C" in text and "No head of this trace has queries enough" in text
    )
    assert "nan" not in text.split("How sparse, and by which law")[1].split("<figure")[0]


def test_a_profile_of_another_trace_is_refused(tmp_path):
    trace = save_trace(tmp_path / "t.safetensors", make_tensors([0], tokens=600))
    other = save_trace(tmp_path / "other.safetensors", make_tensors([0], tokens=600))
    tamis("profile", other, "--out", tmp_path / "p.json")
    done, page = make_page(tmp_path, trace, tmp_path / "p.json")
    assert done.returncode == 1 and not page.exists()
    assert done.stderr.startswith("demo_page.py: --profile needs the profile of the same trace")


def test_heads_without_a_rule_are_left_out_of_the_comparison(tmp_path):
    import demo_profile

    trace = save_trace(tmp_path / "t.safetensors", make_tensors([0], tokens=600, queries=60))
    tamis("profile", trace, "--out", tmp_path / "p.json")
    profile = json.loads((tmp_path / "p.json").read_text())
    whole = demo_profile.rules_section(profile, "1 %", "p.json")
    assert f"the last of {len(profile['heads'][0]['rules']['bins'])} ranges of length" in whole
    assert "left out" not in whole
    for rule in demo_profile.RULES:  # as in a head with too few calibration rows
        own = profile["heads"][0]["rules"][rule]
        own["alpha"], own["rank"] = None, own["rows"] + 1
        profile["heads"][1]["rules"][rule] |= {
            "mean_keys": None,
            "held_out": {"rows": 0, "covered": 0},
        }
    part = demo_profile.rules_section(profile, "1 %", "p.json")
    assert "2 heads have too few queries" in part
    kept = [head["rules"]["power"] for head in profile["heads"][2:]]
    mean = np.average([r["mean_keys"] for r in kept], weights=[r["held_out"]["rows"] for r in kept])
    assert f"{mean:,.0f}" in part
