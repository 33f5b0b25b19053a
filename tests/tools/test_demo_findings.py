"""The sentences that `make demo` ends with: they say what the reports hold."""

import json
import subprocess
import sys

import pytest
from conftest import ROOT, make_tensors, save_trace, tamis

pytest.importorskip("altair")
pytest.importorskip("vl_convert")
sys.path.insert(0, str(ROOT / "tools"))


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """The files that tools/demo.sh makes, but smaller."""
    made = tmp_path_factory.mktemp("demo")
    trace = save_trace(made / "trace.safetensors", make_tensors([0, 1], tokens=600, queries=60))
    for name, mode in ("dense", ["--dense"]), ("mass-0.05", ["--budget", "mass:0.05"]):
        done = tamis(
            "attend", trace, *mode, "--check", "--out", made / f"{name}.safetensors", "--json"
        )
        (made / f"{name}.json").write_text(done.stdout)
    tamis("profile", trace, "--out", made / "profile.json")
    tamis("pattern", "banded", "--n", 12, "--reach", 1, "--out", made / "ring.mtx")
    realised = ["--dim", 5, "--steps", 300, "--out", made / "ring.safetensors", "--json"]
    (made / "ring.realise.json").write_text(tamis("realise", made / "ring.mtx", *realised).stdout)
    done = tamis("verify", made / "ring.mtx", made / "ring.safetensors", "--json")
    (made / "ring.verify.json").write_text(done.stdout)
    done = tamis("frontier", made / "ring.mtx", "--dims", "1,5,6", "--steps", 300, "--json")
    (made / "frontier.json").write_text(done.stdout)
    (made / "recipes.qrels").write_bytes((ROOT / "data" / "recipes.qrels").read_bytes())
    places = [
        "--out",
        made / "recipes.safetensors",
        "--refutation",
        made / "recipes.refutation.json",
    ]
    done = tamis("decide", made / "recipes.qrels", *places, "--json")
    (made / "recipes.decide.json").write_text(done.stdout)
    (made / "commands.txt").write_text("")
    return made


def printed(folder, *options):
    dense = [folder / "trace.safetensors", folder / "dense.safetensors", folder / "dense.json"]
    command = [
        sys.executable,
        ROOT / "tools" / "demo_page.py",
        *dense,
        "--page",
        folder / "index.html",
    ]
    done = subprocess.run(
        [*command, "--head", "0:1", *options], capture_output=True, text=True, check=True
    )
    # Lines may break anywhere, and a space precedes percent signs.
    return " ".join(done.stdout.split())


def everything(folder):
    return printed(
        folder,
        *("--sparse", folder / "mass-0.05.safetensors", folder / "mass-0.05.json"),
        *("--profile", folder / "profile.json", "--frontier", folder / "frontier.json"),
        *("--realised", folder, "--examples", "ring", "--decided", "recipes"),
    )


def said(folder, name):
    return json.loads((folder / f"{name}.json").read_text())


def percent(share):
    from demo_html import percent

    return percent(share).replace("\N{NO-BREAK SPACE}", " ")


def test_the_sentences_hold_the_numbers_of_the_reports(folder):
    words = everything(folder)
    sparse, profile, frontier = (
        said(folder, name) for name in ("mass-0.05", "profile", "frontier")
    )
    shares = [head["share"]["median"] for head in profile["heads"]]
    assert f"needs {percent(min(shares))} to {percent(max(shares))} of the keys" in words
    assert f"of {len(shares)} heads" in words
    assert (
        f"mass:0.05: half of the queries read at most {percent(sparse['bytes']['median'])} of"
        in words
    )
    assert f"Proven: τ at most {percent(sparse['tau']['median'])}, output off by" in words
    assert f"true: {sparse['error']['true']['median']:.2g}, and" in words
    assert (
        f"Budget met by {sparse['reached']['met']} of {sum(sparse['reached'].values())}." in words
    )
    assert f"violated: 0 of {said(folder, 'dense')['queries'] + sparse['queries']:,}." in words
    assert (
        "1 of 1 witnesses hold" in words
        and "5 (ring)" in words
        and "3 (topics and recipes)" in words
    )
    found = [point for point in frontier["points"] if point["verified"]]
    assert f"{found[0]['norm_product']:.3g} in {found[0]['dim']}" in words and found[0]["dim"] > 1


def test_the_sentences_turn_with_the_reports(folder, tmp_path):
    for file in folder.iterdir():
        (tmp_path / file.name).write_bytes(file.read_bytes())

    def change(name, **members):
        (tmp_path / f"{name}.json").write_text(json.dumps(said(folder, name) | members))

    change("ring.verify", holds=False)
    change("recipes.decide", lower=2, upper=5)
    change("dense", violations=7)
    profile = said(folder, "profile")
    for head, law in zip(
        profile["heads"], ["log"] + ["power"] * len(profile["heads"]), strict=False
    ):
        head["law"] = law
    change("profile", heads=profile["heads"])
    words = everything(tmp_path)
    assert "0 of 1 witnesses hold" in words and "(ring)" not in words
    assert "2 to 5, open (topics and recipes)" in words
    assert "violated: 7 of" in words
    assert f"α·n^C {len(profile['heads']) - 1}, α·log n 1" in words


def test_what_was_not_asked_is_not_spoken_of(folder):
    words = printed(folder)
    assert words.startswith("Attention: ") and "Certificates violated: 0 of" in words
    for word in ("Sparse", "Sparsity", "Patterns", "Decided"):
        assert word not in words
