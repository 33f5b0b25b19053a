"""Help, manual and completion come from one description: complete, up to date and correct."""

import os
import re
import shlex
import shutil
import subprocess

import pytest
from conftest import ROOT, program, tamis

MANUAL = tamis("manual", "markdown").stdout
COMMANDS = re.findall(r"^## tamis (\S+)$", MANUAL, re.M)
EXAMPLES = dict(
    zip(COMMANDS, re.findall(r"^Example:\n\n```sh\n(.+)\n```$", MANUAL, re.M), strict=True)
)


def test_docs_cli_is_what_the_program_prints():
    stored = (ROOT / "docs" / "cli.md").read_text()
    assert stored == MANUAL, "docs/cli.md is old: run tamis manual markdown > docs/cli.md"


@pytest.mark.parametrize("command", COMMANDS)
def test_the_example_of_every_command_runs(command):
    words = shlex.split(EXAMPLES[command])
    assert words[:2] == ["tamis", command]
    assert tamis(*words[1:]).stdout


@pytest.mark.parametrize("command", COMMANDS)
def test_help_of_every_command_has_its_options_and_its_example(command):
    text = tamis(command, "--help").stdout
    assert text.startswith(f"tamis {command}: ") and EXAMPLES[command] in text
    section = MANUAL.split(f"\n## tamis {command}\n")[1].split("\n## ")[0]
    for option in re.findall(r"^- `(.+?)`", section, re.M):
        assert option in text
    assert max(map(len, text.splitlines())) <= 80
    assert tamis("-h", command).stdout in (text, tamis("--help").stdout)


def test_the_program_lists_its_commands():
    assert {"info", "attend", "manual", "completion"} <= set(COMMANDS)
    text = tamis("--help").stdout
    for command in COMMANDS:
        assert re.search(rf"^  {command} ", text, re.M)


def test_the_manual_page_is_valid_roff():
    page = tamis("manual").stdout
    assert page == tamis("manual", "man").stdout and page.startswith(".TH TAMIS 1")
    for command in COMMANDS:
        assert f".SS tamis {command}" in page
    if not shutil.which("groff"):
        pytest.skip("groff is not installed: not run")
    done = subprocess.run(
        ["groff", "-man", "-Tascii", "-ww", "-z"],
        input=page,
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode, done.stderr) == (0, "")


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_completion_scripts_are_valid(shell):
    if not shutil.which(shell):
        pytest.skip(f"{shell} is not installed: not run")
    script = tamis("completion", shell).stdout
    done = subprocess.run([shell, "-n"], input=script, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")


def bash_completes(*words):
    script = """source <("$1" completion bash); shift; COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1))
    _tamis; printf '%s\\n' "${COMPREPLY[@]}" """
    done = subprocess.run(
        ["bash", "-c", script, "bash", program(), *words],
        capture_output=True,
        text=True,
        cwd=ROOT,
        check=True,
    )
    return done.stdout.split()


def fish_completes(*words):
    script = "$PROGRAM completion fish | source; complete -C $LINE"
    env = os.environ | {"PROGRAM": program(), "LINE": " ".join(words)}
    done = subprocess.run(
        ["fish", "-c", script], capture_output=True, text=True, cwd=ROOT, env=env, check=True
    )
    return [line.split("\t")[0] for line in done.stdout.splitlines()]


@pytest.mark.parametrize("shell", ["bash", "fish"])
def test_completion_offers_commands_options_values_and_files(shell):
    if not shutil.which(shell):
        pytest.skip(f"{shell} is not installed: not run")
    completes = {"bash": bash_completes, "fish": fish_completes}[shell]
    assert set(completes("tamis", "")) == set(COMMANDS)
    assert completes("tamis", "att") == ["attend"]
    assert set(completes("tamis", "attend", "--de")) == {"--dense", "--dense-below"}
    assert completes("tamis", "attend", "x", "--thr") == ["--threads"]
    assert completes("tamis", "--backend", "") == ["cpu"]
    assert set(completes("tamis", "attend", "x", "--prefer", "")) == {"bytes", "time"}
    assert set(completes("tamis", "completion", "")) == {"bash", "zsh", "fish"}
    assert "--dense" not in completes("tamis", "info", "--")
    assert any(word.startswith("data/smoll") for word in completes("tamis", "attend", "data/"))
    assert completes("tamis", "attend", "x", "--out", "REA") in ([], ["README.md"])
