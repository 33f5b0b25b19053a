"""The examples in docstrings of the lab do what they show."""

import doctest
import importlib

import pytest
from conftest import ROOT

MODULES = ("decisions", "frontiers", "patterns", "profiles", "realisations", "traces", "witnesses")


@pytest.mark.parametrize("name", MODULES)
def test_examples_run(name, monkeypatch):
    monkeypatch.chdir(ROOT)
    module = importlib.import_module(f"tamis.{name}")
    result = doctest.testmod(module, extraglobs=vars(importlib.import_module("tamis")))
    assert result.failed == 0


def test_what_is_public_is_documented():
    tamis = importlib.import_module("tamis")
    for name in tamis.__all__:
        if not name.startswith("__"):
            thing = getattr(tamis, name)
            assert thing.__doc__, name
            for member, value in vars(thing).items() if isinstance(thing, type) else ():
                if not member.startswith("_") and (callable(value) or isinstance(value, property)):
                    assert value.__doc__, f"{name}.{member}"
