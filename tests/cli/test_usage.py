"""Invalid command lines and machine-readable errors: switches with values, options given twice,
names that are nearly right, and JSON."""

import json
import re

import numpy as np
import pytest
from conftest import DATA, make_tensors, save_trace, sentence_of, tamis
from sweeps import on_ranks
from test_manual import COMMANDS, MANUAL


def options_of(section):
    """(name, what it takes) for all options in a part of the manual."""
    for heading in re.findall(r"^- `(.+?)`", section, re.M):
        if heading.startswith("-"):
            name, _, value = heading.rpartition("--")[2].partition(" ")
            yield f"--{name}", value


GLOBAL = list(options_of(MANUAL.split("\n## Global options\n")[1].split("\n## ")[0]))
SECTIONS = {name: MANUAL.split(f"\n## tamis {name}\n")[1].split("\n## ")[0] for name in COMMANDS}
OPTIONS = [
    (name, *option) for name, text in SECTIONS.items() for option in [*GLOBAL, *options_of(text)]
]
SWITCHES = [(command, name) for command, name, value in OPTIONS if not value]
VALUED = [
    (command, name)
    for command, name, value in OPTIONS
    if value and name not in ("--layer", "--set")
]


def test_the_manual_was_understood():
    assert {"--help", "--json", "--version"} <= {name for name, value in GLOBAL if not value}
    assert ("attend", "--dense") in SWITCHES and ("verify", "--weak") in SWITCHES
    assert ("attend", "--out") in VALUED and ("dmin", "--threads") in VALUED


@pytest.mark.parametrize(("command", "switch"), SWITCHES)
def test_a_switch_takes_no_value(command, switch):
    for value in ("false", "true", "0", "no", "nonsense", ""):
        sentence = sentence_of(tamis(command, f"{switch}={value}", status=2))
        assert sentence == f"{switch}={value}: takes no value; give {switch} or leave it out"
    assert "-h=1: takes no value" in sentence_of(tamis(command, "-h=1", status=2))


def test_a_switch_before_any_command_takes_no_value_either():
    assert "--version=2: takes no value" in sentence_of(tamis("--version=2", status=2))


@pytest.mark.parametrize(("command", "option"), VALUED)
def test_an_option_is_given_once_and_its_value_is_there(command, option):
    section = MANUAL if (option, "N") in GLOBAL else SECTIONS[command]
    value = dict(options_of(section)).get(option, "")
    word = value.split("|")[0] if value.islower() or "|" in value else "1"
    if option == "--backend":
        word = "cpu"
    twice = sentence_of(tamis(command, option, word, option, word, status=2))
    assert f"{option}: is given more than once; give it once" in twice
    for words in ([f"{option}=", "x"], [option, "--help"], [option, "--threads=1"], [option]):
        assert f"{option}: its value is missing" in sentence_of(tamis(command, *words, status=2))


@pytest.mark.parametrize(
    "options", [["--out", "a", "--out", "b"], ["--out", "a", "--threads=1", "--out=a"]]
)
def test_the_first_of_two_values_is_not_lost(options, tmp_path):
    done = tamis("attend", DATA, "--dense", *options, status=2, cwd=tmp_path)
    assert (
        sentence_of(done)
        == "--out: is given more than once; give it once (see tamis attend --help)"
    )
    assert list(tmp_path.iterdir()) == []


NEARLY = {
    "attnd": ["attnd", "x"],
    "attend": ["attedn"],
    "verify": ["verfy"],
    "--time-limit": ["decide", "x", "--time_limit", "3"],
    "--dim": ["realise", "x", "--dims", 4],
    "--eps1 or --eps2": ["realise", "x", "--eps3=4"],
    "--dense": ["attend", "--dens"],
    "--threads": ["info", "--thread", 1],
    "--json": ["--jsn", "info"],
    "--weak": ["verify", "a", "b", "--weka"],
}
NEARLY["attend "] = NEARLY.pop("attnd")


@pytest.mark.parametrize("meant", NEARLY)
def test_nearly_right_names_are_guessed(meant):
    sentence = sentence_of(tamis(*NEARLY[meant], status=2))
    assert f"; did you mean {meant.strip()}? (see tamis " in sentence


@pytest.mark.parametrize(
    "words", [["frobnicate"], ["at"], ["xxxx"], ["info", "--bogus"], ["info", "--x"], ["dmin", "--m", 3],
              ["info", "-q"], ["realise", "x", "--" + "dim" * 1000]],
)  # fmt: skip
def test_nothing_absurd_is_guessed(words):
    assert "did you mean" not in sentence_of(tamis(*words, status=2))


def error_of(code, status, *args, **options):
    """The one object on standard output; standard error must hold the same sentence."""
    done = tamis(*args, status=status, **options)
    error = json.loads(done.stdout)
    assert error == {
        "error": {"code": code, "message": done.stderr.removeprefix("tamis: ").rstrip("\n")}
    }
    assert done.stderr.startswith("tamis: ") and done.stderr.count("\n") == 1
    return error["error"]["message"]


ERRORS = {
    "unknown command": ("usage", 2, ["attnd", "--json"]),
    "json first": ("usage", 2, ["--json", "attend"]),
    "no command": ("usage", 2, ["--json"]),
    "unknown option": ("usage", 2, ["info", "--bogus", "--json"]),
    "switch with a value": ("usage", 2, ["info", "--help=no", "--json"]),
    "value missing": ("usage", 2, ["attend", DATA, "--json", "--out"]),
    "refused by the command": ("usage", 2, ["attend", DATA, "--json"]),
    "files": ("usage", 2, ["attend", DATA, "--json", "--dense", "--out", "docs"]),
    "missing file": ("input", 2, ["info", "nowhere", "--json"]),
    "bad file": ("input", 2, ["verify", "README.md", "README.md", "--json"]),
    "no folder": ("failed", 3, ["attend", DATA, "--dense", "--out", "nowhere/x", "--json"]),
}


@pytest.mark.parametrize("name", ERRORS)
def test_errors_under_json_are_json(name):
    code, status, args = ERRORS[name]
    assert error_of(code, status, *args)


def test_json_is_not_asked_for_behind_two_dashes():
    sentence_of(tamis("info", "--", "--json", status=2))


def test_failed_points_are_in_the_object_of_the_sweep(tmp_path):
    """The requested object is printed; a second one would make both unreadable."""
    tensors = make_tensors([3], tokens=600, queries=40)
    tensors["layers.3.k"][:] = np.nan
    trace = save_trace(tmp_path / "t", tensors)
    grid = ["--set", "n=256", "--set", "replicates=1", "--set", "queries=1"]
    done = tamis(
        "sweep", "window", "--trace", trace, *grid, "--store", tmp_path / "s", "--json", status=3
    )
    said = json.loads(done.stdout)
    assert said["failed"] > 0 and "error" not in said
    assert "points failed: " in done.stderr and done.stderr.count("\n") == 1


def test_under_mpirun_there_is_one_object():
    ended = on_ranks(3, "sweep", "fig3", "--store", "README.md", "--json")
    assert ended.returncode == 2
    assert json.loads(ended.stdout)["error"]["code"] == "input"
