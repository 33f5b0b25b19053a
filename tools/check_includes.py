#!/usr/bin/env python3
"""Checks the includes of src/ against the table of folders in HACKING.md.

Every folder below src/ has one row: what it holds, which public headers declare its functions, and
which folders it may include from. A public header counts as a part of the folder that owns it. An
include that the table does not allow, a dependency that no include needs, a public header with no
owner or two, a cycle, and a folder of more than 25 files are errors.
"""

import re
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
MOST_FILES = 25
ROW = re.compile(r"^\| `src/([^`]+)/` \|(.*)\|(.*)\|(.*)\|$")
INCLUDE = re.compile(r'^#include ["<]([^">]+)[">]', re.MULTILINE)


def table():
    """Returns {folder: dependencies} and {public header: folder}."""
    allowed, owner, errors = {}, {}, []
    for line in (ROOT / "HACKING.md").read_text().splitlines():
        row = ROW.match(line)
        if not row:
            continue
        folder, _, headers, dependencies = (cell.strip() for cell in row.groups())
        allowed[folder] = set(re.findall(r"[a-z_/]+", dependencies))
        for header in re.findall(r"[a-z_/]+\.h", headers):
            if header in owner:
                errors.append(f"HACKING.md: {header} belongs to {owner[header]} and to {folder}")
            owner[header] = folder
    return allowed, owner, errors


def folder_of(path, allowed):
    """Returns the longest folder of the table that holds the path, which is relative to src/."""
    return max((f for f in allowed if path.startswith(f + "/")), key=len, default=None)


def includes_of(allowed, owner):
    """Yields (file, folder of the file, folder that it includes from)."""
    places = [(path, str(path.relative_to(ROOT / "src"))) for path in (ROOT / "src").rglob("*.*")]
    places += [(ROOT / "include/tamis" / header, f"{folder}/") for header, folder in owner.items()]
    for path, place in sorted(places):
        if path.suffix not in (".h", ".cpp"):
            continue
        here = folder_of(place, allowed)
        for name in INCLUDE.findall(path.read_text()):
            there = owner.get(name.removeprefix("tamis/")) if name.startswith("tamis/") else folder_of(name, allowed)
            if there != here and (there or (ROOT / "src" / name).exists()):
                yield path.relative_to(ROOT), here, there


def cycle(allowed):
    """Returns a folder that depends on itself through others, or None."""
    order = {}

    def visit(folder):
        if order.get(folder) == "open":
            return folder
        if folder in order:
            return None
        order[folder] = "open"
        found = next((c for d in sorted(allowed.get(folder, ())) if (c := visit(d))), None)
        order[folder] = "closed"
        return found

    return next((c for folder in sorted(allowed) if (c := visit(folder))), None)


def main():
    allowed, owner, errors = table()
    used = {folder: set() for folder in allowed}
    for path, here, there in includes_of(allowed, owner):
        if here is None or there is None:
            errors.append(f"{path}: its folder, or one that it includes from, has no row in HACKING.md")
            continue
        if there not in allowed[here]:
            errors.append(f"{path}: includes from {there}, which HACKING.md does not allow {here}")
        used[here].add(there)
    for folder, dependencies in allowed.items():
        if not (ROOT / "src" / folder).is_dir():
            errors.append(f"HACKING.md: there is no folder src/{folder}")
        errors += [f"HACKING.md: {folder} depends on {d}, but includes nothing of it" for d in sorted(dependencies - used[folder])]
    for path in sorted((ROOT / "include/tamis").rglob("*.h")):
        if str(path.relative_to(ROOT / "include/tamis")) not in owner:
            errors.append(f"{path.relative_to(ROOT)}: no folder in HACKING.md owns it")
    if back := cycle(allowed):
        errors.append(f"HACKING.md: {back} depends on itself through other folders")
    for top in ("src", "include", "cli", "bench", "tools", "tests", "examples"):
        for folder in [ROOT / top, *(p for p in (ROOT / top).rglob("*") if p.is_dir())]:
            files = [p for p in folder.iterdir() if p.is_file() and not p.name.startswith(".")]
            if len(files) > MOST_FILES:
                errors.append(f"{folder.relative_to(ROOT)}: has {len(files)} files; at most {MOST_FILES} are easy to remember")
    print("\n".join(errors) if errors else f"includes: {len(allowed)} folders, as HACKING.md says")
    return 1 if errors else 0


if __name__ == "__main__":
    sys.exit(main())
