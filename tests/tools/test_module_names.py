"""Scripts find their neighbours first: a file named like a module of Python or of a package hides
that module from everything imported from its folder, at any depth (torch and cProfile import
Python's `profile`)."""

import re
import sys
from importlib import metadata

from conftest import ROOT

FOLDERS = ("bench", "fuzz", "tools", "tests", "examples")


def required():
    """Packages that the benchmarks install elsewhere, by the names in their list."""

    lines = (ROOT / "bench" / "peers.txt").read_text().splitlines()
    return {
        re.split(r"[^\w.-]", line)[0].replace("-", "_")
        for line in lines
        if not line.startswith("#")
    }


def test_no_script_hides_a_module_of_python_or_of_a_package():
    taken = sys.stdlib_module_names | set(metadata.packages_distributions()) | required()
    assert {"profile", "numpy", "pytest", "torch"} <= taken
    own = [file for folder in FOLDERS for file in sorted((ROOT / folder).rglob("*.py"))]
    assert len(own) > 30
    assert [str(file.relative_to(ROOT)) for file in own if file.stem in taken] == []
