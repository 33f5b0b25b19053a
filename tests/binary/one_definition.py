#!/usr/bin/env python3
"""A name has one definition in the whole library.

    one_definition.py SOURCES [OBJECT…]

Two classes of one name in two files are undefined behaviour that no compiler reports: the linker
keeps the functions of one class and gives them to both. SOURCES is the folder above include/, src/
and cli/. No two of its files may define a class, struct, enum or union of the same name in the same
named namespace. In objects compiled without optimisation every inline function is a weak symbol in
each file that uses it: copies of one definition must have one size, and none may also be a function
of a single file elsewhere. The kernels, compiled with other flags, must have no weak symbols.
"""

import re
import subprocess
import sys
from collections import defaultdict
from pathlib import Path

# In the formatted sources the contents of namespaces are not indented, and a comment closes each.
OPENS = re.compile(r"namespace(?: ([\w:]+))? \{$")
DEFINES = re.compile(
    r"(?:class|struct|union|enum(?: class)?) (?:TAMIS_API |TAMIS_INSIDE |alignas\(\w+\) )?(\w+)\b(?!::|<)(?!.*;$)"
)


def types_of(path):
    """The types that a file defines outside classes and unnamed namespaces, with namespaces."""
    inside = []
    for line in path.read_text().splitlines():
        if opened := OPENS.match(line):
            inside.append(opened[1])
        elif line.startswith("}  // namespace"):
            inside.pop()
        elif (defined := DEFINES.match(line)) and None not in inside:
            yield "::".join([*inside, defined[1]])


def check_sources(root):
    files = defaultdict(list)
    for folder in ("include", "src", "cli"):
        for path in sorted((root / folder).rglob("*")):
            if path.suffix in (".h", ".cpp"):
                for name in types_of(path):
                    files[name].append(str(path.relative_to(root)))
    if len(files) < 100:
        yield f"only {len(files)} types were found below {root}"
    for name, where in files.items():
        if len(where) > 1:
            yield f"{name} is defined in {' and in '.join(where)}"


def functions(path):
    """Name, size and kind of functions: merged with those of other files (W) or its own (T)."""
    lines = subprocess.run(
        ["nm", "--print-size", "--defined-only", path], check=True, capture_output=True, text=True
    ).stdout.splitlines()
    for line in lines:
        fields = line.split()
        if len(fields) == 4 and fields[2] in "WT":
            yield fields[3], (int(fields[1], 16), fields[2])


def check_objects(objects):
    definitions = defaultdict(lambda: defaultdict(list))
    for path in objects:
        if "/kernels/" in path:
            continue
        for name, definition in functions(path):
            if name.startswith(("_ZN5tamis", "_ZNK5tamis")):
                definitions[name][definition].append(path.rsplit("/", 1)[-1])
    for name, found in definitions.items():
        if len(found) > 1:
            files = " and ".join(f"{files[0]} ({size} bytes)" for (size, _), files in found.items())
            yield f"{name} is defined differently in {files}"
    # With fewer, the objects were optimised and nothing was compared.
    shared = sum(len(files) > 1 for found in definitions.values() for files in found.values())
    if shared < 100:
        yield f"only {shared} functions stand in more than one object"


def main(root, *objects):
    complaints = list(check_sources(Path(root)))
    if objects:
        complaints += check_objects(objects)
    print("\n".join(complaints) or "one_definition: as it should be")
    return bool(complaints)


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
