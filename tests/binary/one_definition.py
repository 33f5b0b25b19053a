#!/usr/bin/env python3
"""A name has one definition in the whole library.

    one_definition.py OBJECT…

Two classes of one name in two files are undefined behaviour that no compiler reports: the linker keeps the functions of
one and gives them to both. In objects compiled without optimisation every inline function stands out of line in
each file that uses it, as a weak symbol, and copies of one definition have one size. OBJECTs compiled with other
flags than the rest (the kernels) are left out, since they define nothing weak.
"""

import subprocess
import sys
from collections import defaultdict


def weak_functions(path):
    """Name → size of the functions that the linker merges with those of other files."""
    lines = subprocess.run(
        ["nm", "--print-size", "--defined-only", path], check=True, capture_output=True, text=True
    ).stdout.splitlines()
    for line in lines:
        fields = line.split()
        if len(fields) == 4 and fields[2] in "Ww":
            yield fields[3], int(fields[1], 16)


def main(*objects):
    sizes = defaultdict(lambda: defaultdict(list))
    for path in objects:
        if "/kernels/" in path:
            continue
        for name, size in weak_functions(path):
            if name.startswith(("_ZN5tamis", "_ZNK5tamis")):
                sizes[name][size].append(path.rsplit("/", 1)[-1])
    differing = {name: found for name, found in sizes.items() if len(found) > 1}
    for name, found in differing.items():
        files = " and ".join(f"{files[0]} ({size} bytes)" for size, files in found.items())
        print(f"{name} is defined differently in {files}")
    shared = sum(len(files) > 1 for found in sizes.values() for files in found.values())
    # Otherwise nothing was compared: the objects were optimised, or none were given.
    if shared < 100:
        print(f"only {shared} functions stand in more than one object")
        return 1
    return bool(differing)


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
