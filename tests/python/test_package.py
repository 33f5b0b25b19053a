"""The package as a whole: examples in its texts, what it imports, the program in it."""

import doctest
import importlib
import pkgutil
import subprocess
import sys

import pytest
import tamis
from conftest import ROOT

MODULES = sorted(
    f"tamis.{module.name}"
    for module in pkgutil.iter_modules(tamis.__path__)
    if module.name not in ("_tamis", "__main__")
)


def run(*command):
    return subprocess.run(
        [sys.executable, *command], check=True, capture_output=True, text=True
    ).stdout


@pytest.mark.parametrize("name", MODULES)
def test_examples_in_docstrings_do_what_they_say(name, tmp_path, monkeypatch):
    (tmp_path / "data").symlink_to(ROOT / "data")  # which examples read
    monkeypatch.chdir(tmp_path)
    options = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE
    found = doctest.testmod(importlib.import_module(name), optionflags=options)
    assert found.failed == 0


def test_examples_in_the_document_do_what_they_say(monkeypatch):
    monkeypatch.chdir(ROOT)
    found = doctest.testfile(str(ROOT / "docs/python.md"), module_relative=False)
    assert found.attempted > 10 and found.failed == 0


def test_every_public_name_has_a_docstring():
    for name in tamis.__all__:
        thing = getattr(tamis, name)
        assert name.startswith("__") or thing.__doc__, name
        for member, value in vars(thing).items() if isinstance(thing, type) else ():
            if not member.startswith("_") and (callable(value) or isinstance(value, property)):
                assert value.__doc__, f"{name}.{member}"


def test_importing_it_imports_nothing_large():
    code = "import sys, tamis; print(*sys.modules)"
    loaded = set(run("-c", code).split())
    assert not loaded & {"torch", "altair", "ml_dtypes", "transformers", "pandas", "scipy"}


def test_the_program_runs_from_the_package():
    assert run("-m", "tamis", "--version").strip().endswith(tamis.__version__)
    assert tamis.info()["target"] in run("-m", "tamis", "info")


def test_info_says_what_can_run_here():
    info = tamis.info()
    assert info["version"] == tamis.__version__
    assert info["targets"]["scalar"] and info["targets"][info["target"].removesuffix("vnni")]
    assert info["threads"] >= 1 and any("GMP" in library for library in info["libraries"])
