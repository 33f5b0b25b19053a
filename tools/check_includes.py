#!/usr/bin/env python3
"""Checks that the sources lie as HACKING.md says, and that what HACKING.md names exists.

HACKING.md has a table with one row for every folder below src/: what the folder holds, the public
headers whose functions it defines, and the folders that it includes from. A public header counts as
a part of the folder that owns it. These are errors:

  - an include that the table does not allow, or a dependency that no include needs;
  - a dependency on a folder that does not stand above its own in the table;
  - an include of a public header in quotes, or of an internal one in angle brackets;
  - a source in no folder of the table, or a public header with no owner or with two;
  - a path, file or header that HACKING.md or CONTRIBUTING.md names and that does not exist;
  - a folder of the repository with more than 25 files.
"""

import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
PUBLIC = ROOT / "include/tamis"
MOST_FILES = 25
ROW = re.compile(r"^\| `src/([^`]+)/` \|([^|]*)\|([^|]*)\|([^|]*)\|$", re.MULTILINE)
CODE = re.compile(r"`([^`\n]+)`")
INCLUDE = re.compile(r'^[ \t]*#[ \t]*include[ \t]*(["<])([^">]+)[">]', re.MULTILINE)
SOURCES = (".h", ".c", ".cpp")


def table():
    """Returns {folder: dependencies}, {public header: folder} and what is wrong with the table."""
    allowed, owner, errors = {}, {}, []
    for folder, what, headers, dependencies in ROW.findall((ROOT / "HACKING.md").read_text()):
        here = ROOT / "src" / folder
        if folder in allowed:
            errors.append(f"HACKING.md: {folder} has two rows")
        if not here.is_dir():
            errors.append(f"HACKING.md: there is no folder src/{folder}")
        for name in CODE.findall(what):
            named = re.fullmatch(r"[a-z0-9_/]+(\.h|\.cpp)?", name)
            if named and not any((here / f"{name}{end}").exists() for end in ("", ".h", ".cpp")):
                errors.append(f"HACKING.md: src/{folder} has no {name}")
        for header in CODE.findall(headers):
            if header in owner:
                errors.append(f"HACKING.md: {header} belongs to {owner[header]} and to {folder}")
            if not (PUBLIC / header).exists():
                errors.append(f"HACKING.md: there is no header include/tamis/{header}")
            owner[header] = folder
        depends = {name.strip() for name in dependencies.split(",") if name.strip()}
        errors += [
            f"HACKING.md: {folder} depends on {name}, which has no row above"
            for name in sorted(depends - allowed.keys())
        ]
        allowed[folder] = depends
    return allowed, owner, errors


def folder_of(path, allowed):
    """Returns the longest folder of the table that holds `path`, which is relative to src/."""
    return max((f for f in allowed if path.startswith(f + "/")), key=len, default=None)


def check_sources(allowed, owner):
    """Yields an error for every include that the table does not allow, or that it need not."""
    below = ROOT / "src"
    places = {path: folder_of(str(path.relative_to(below)), allowed) for path in files("src")}
    places |= {path: owner.get(str(path.relative_to(PUBLIC))) for path in files("include")}
    used = {folder: set() for folder in allowed}
    for path, here in places.items():
        name = path.relative_to(ROOT)
        if path.suffix not in SOURCES:
            continue
        if here is None:
            yield f"{name}: HACKING.md has no folder for it"
            continue
        for mark, included in INCLUDE.findall(path.read_text()):
            header = included.removeprefix("tamis/")
            is_public, is_inside = header != included, (below / included).exists()
            if mark == '"' and not is_inside or mark == "<" and is_inside:
                right = f"<{included}>" if mark == '"' else f'"{included}", relative to src/'
                yield f"{name}: includes {included}; write {right}"
            if not is_public and not is_inside:
                continue  # the standard library's, or a package's
            there = owner.get(header) if is_public else folder_of(included, allowed)
            if there is not None and there != here:
                used[here].add(there)
                if there not in allowed[here]:
                    yield f"{name}: includes {included}, but {here} may not depend on {there}"
    for folder, dependencies in allowed.items():
        for name in sorted(dependencies - used[folder]):
            yield f"HACKING.md: {folder} depends on {name}, but includes nothing of it"


def check_names(document):
    """Yields an error for every path in backticks that does not exist. Words in capitals stand for
    names to choose, and what is built need not be there."""
    for code in CODE.findall(ROW.sub("", (ROOT / document).read_text())):
        is_path = re.fullmatch(r"[\w.-]*/[\w./-]*|[\w-]+\.(py|sh|md|txt|json|cpp|h)", code)
        is_open = re.search("[A-Z]{3}", re.sub(r"[A-Z]+\.md", "", code))
        is_made = code.startswith(("build/", "out/"))
        if is_path and not is_open and not is_made and not (ROOT / code).exists():
            yield f"{document}: there is no {code}"


def files(folder):
    """Returns the files below a folder of the repository, without those that git ignores."""
    listed = ["git", "-C", ROOT, "ls-files", "-z", "-co", "--exclude-standard", "--", folder]
    names = subprocess.run(listed, check=True, capture_output=True, text=True).stdout.split("\0")
    return sorted({path for name in names if name and (path := ROOT / name).is_file()})


def check_sizes():
    """Yields an error for every folder with too many files. A seed corpus may have more."""
    sizes = {}
    for path in files("."):
        folder = path.relative_to(ROOT).parent
        sizes[folder] = sizes.get(folder, 0) + (not path.name.startswith("."))
    for folder, size in sorted(sizes.items()):
        if size > MOST_FILES and not folder.is_relative_to("fuzz/corpus"):
            yield f"{folder}: has {size} files; at most {MOST_FILES} are easy to remember"


def main():
    allowed, owner, errors = table()
    errors += check_sources(allowed, owner)
    for document in ("HACKING.md", "CONTRIBUTING.md"):
        errors += check_names(document)
    errors += check_sizes()
    print("\n".join(errors) if errors else f"includes: {len(allowed)} folders, as HACKING.md says")
    return 1 if errors else 0


if __name__ == "__main__":
    sys.exit(main())
