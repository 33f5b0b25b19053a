"""No command writes to a file that it reads, or writes one file twice, whatever their names."""

import os
import re
import shutil
import subprocess
from itertools import combinations

import numpy as np
import pytest
from conftest import make_tensors, program, sanitized, save_trace, sentence_of, tamis
from safetensors.numpy import save_file
from sweeps import GRID, on_ranks
from test_manual import MANUAL
from witnesses import save_pattern

READS, WRITES, KEEPS = "reads", "writes", "keeps"
FILES = {
    "info": {"TRACE": READS},
    "attend": {"TRACE": READS, "--budget": READS, "--out": WRITES},
    "bench": {"--trace": READS},
    "profile": {
        "TRACE": READS,
        "--against": READS,
        "--out": WRITES,
        "--rows": WRITES,
        "--vega": WRITES,
    },
    "pattern": {"PATTERN": READS, "--trace": READS, "--out": WRITES},
    "realise": {"PATTERN": READS, "--out": WRITES},
    "verify": {"PATTERN": READS, "WITNESS": READS},
    "decide": {"PATTERN": READS, "--out": WRITES, "--refutation": WRITES, "--problem": WRITES},
    "frontier": {"PATTERN": READS, "--vega": WRITES},
    "dmin": {},
    "sweep": {"--store": KEEPS, "--trace": READS, "--vega": WRITES},
    "manual": {},
    "completion": {},
}
# Values of options that are not names of files.
PLAIN = {
    "BUDGET",
    "H/KV",
    "N",
    "K",
    "G",
    "S",
    "R",
    "L",
    "H",
    "D",
    "E",
    "M",
    "Q",
    "E,...",
    "M,...",
    "W,...",
    "AXIS=V,V...",
}

PAIRS = [
    (command, a, b, exists)
    for command, options in FILES.items()
    for a, b in combinations(options, 2)
    for exists in (True, False)
    if {options[a], options[b]} != {READS} and (exists or READS not in (options[a], options[b]))
]
BESIDE = ["-wal", "-shm", "-journal", ".lock"]


def values_of(command):
    """The values that a command's options and arguments take, according to the manual."""
    section = MANUAL.split(f"\n## tamis {command}\n")[1].split("\n## ")[0]
    for heading in re.findall(r"^- `(.+?)`", section, re.M):
        name, _, value = heading.partition(" ")
        yield name, value if name.startswith("--") else name


@pytest.mark.parametrize("command", re.findall(r"^## tamis (\S+)$", MANUAL, re.M))
def test_it_is_known_what_every_option_does_with_files(command):
    """All tests below would miss an option that is missing in FILES."""
    for name, value in values_of(command):
        if name in FILES[command]:
            assert value in ("FILE", "TRACE", "PATTERN", "WITNESS", "BUDGET")
        else:
            words = value == value.lower()  # a switch, or a choice of words
            assert words or value in PLAIN, f"{command} {name} takes {value}: does it name a file?"


@pytest.fixture
def folder(tmp_path):
    """A file for everything that a command can read."""
    folder = tmp_path / "files"
    folder.mkdir()
    trace = save_trace(folder / "TRACE", make_tensors([3]))
    tamis("profile", trace, "--out", folder / "--against")
    (folder / "--budget").write_bytes((folder / "--against").read_bytes())
    save_pattern(folder / "a.npy", np.eye(4)).rename(folder / "PATTERN")
    save_file({"q": 9 * np.eye(4), "k": np.eye(4)}, folder / "WITNESS")
    save_trace(folder / "--trace", make_tensors([3]))
    return folder


def words_of(command, files):
    """A command line that gives these options these files."""
    words = []
    for option, file in files.items():
        if option == "--budget":
            file = f"profile:{file}"
        words += [option, file] if option.startswith("--") else [file]
    if command == "attend" and "--budget" not in files:
        words += ["--dense"]
    if command == "pattern" and "--trace" in files:
        words = ["trace", *words, "--layer", 3, "--head", 0, "--k", 2]
    if command == "sweep":
        words = ["window" if "--trace" in files else "fig3", *words]
        words += [] if "--trace" in files else GRID
    return [command, *words]


def files_of(command, folder, **given):
    """Every argument gets its own file, and each option in `given` gets the file named there."""
    files = {name: folder / name for name in FILES[command] if not name.startswith("--")}
    if command == "sweep":
        files = {"--store": folder / "store"}
    if command == "pattern" and "--trace" in given:
        files = {}
    return files | given


def all_of(folder):
    """All names in the folder, with their types and contents."""
    return {
        str(path): (
            path.lstat().st_ino,
            path.is_symlink(),
            path.read_bytes() if path.is_file() else b"",
        )
        for path in folder.rglob("*")
    }


def other_names(folder, name, exists):
    """Other ways to name the same file."""
    (folder.parent / "linked").symlink_to(folder)
    link = folder / "link"
    link.symlink_to(name)
    again = folder / "link to link"
    again.symlink_to(folder.parent / "linked" / "link")
    names = [folder / name, f"{folder}/./{name}", folder.parent / "linked" / name, link, again]
    names += [os.path.relpath(folder / name)]
    if exists:
        hard = folder / "hard link"
        hard.hardlink_to(folder / name)
        names.append(hard)
    return names


def expect_refused(command, files, folder, *parts):
    before = all_of(folder)
    sentence = sentence_of(tamis(*words_of(command, files), status=2, cwd=None))
    assert all(part in sentence for part in parts), sentence
    assert all_of(folder) == before


@pytest.mark.parametrize(("command", "a", "b", "exists"), PAIRS)
def test_two_options_do_not_name_one_file(folder, command, a, b, exists):
    roles = FILES[command]
    if READS in (roles[a], roles[b]):
        name = a if roles[a] == READS else b
    else:
        name = "result"
        if exists and roles[a] != KEEPS:
            (folder / name).write_text("an earlier result")
        elif exists:
            tamis("sweep", "fig3", *GRID, "--store", folder / name)
    for other in other_names(folder, name, exists):
        for one, two in ((folder / name, other), (other, folder / name)):
            expect_refused(command, files_of(command, folder, **{a: one, b: two}), folder, a, b)


@pytest.mark.parametrize("exists", [True, False], ids=["old", "new"])
@pytest.mark.parametrize("suffix", BESIDE)
@pytest.mark.parametrize("option", ["--vega", "--trace"])
def test_what_lies_beside_a_store_is_the_stores(folder, option, suffix, exists):
    store, link = folder / "store", folder / "link to store"
    if exists:
        tamis("sweep", "fig3", *GRID, "--store", store)
    beside = folder / f"store{suffix}"
    if option == "--trace":
        (folder / "--trace").rename(beside)
    link.symlink_to("store")
    for name in (store, link):
        expect_refused("sweep", {"--store": name, option: beside}, folder, option, "beside --store")


def test_names_of_temporary_files_are_not_taken(folder):
    out = folder / ".tamis-123-0.tmp"
    expect_refused(
        "realise", files_of("realise", folder, **{"--out": out}), folder, "--out", "temporary"
    )
    expect_refused("sweep", {"--store": out}, folder, "temporary")


@pytest.mark.parametrize("device", ["/dev/null", "/dev/stdout"])
def test_devices_and_pipes_are_not_one_file(folder, device):
    """They are refused because of their type, not because they are named twice."""
    files = files_of("decide", folder, **{"--out": device, "--refutation": device})
    expect_refused("decide", files, folder, f"--out: {device}: is a pipe, a device")


NO_CASE = """
#define _GNU_SOURCE
#include <ctype.h>
#include <dlfcn.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
static const char* lower(const char* path, char* out) {
  const char* last = strrchr(path, '/');
  snprintf(out, PATH_MAX, "%s", path);
  for (char* c = out + (last ? last - path : 0); *c != 0; c++) *c = (char)tolower((unsigned char)*c);
  return strstr(path, "/no-case/") == NULL ? path : out;
}
int stat(const char* restrict path, struct stat* restrict found) {
  char name[PATH_MAX];
  int (*real)(const char*, struct stat*) = dlsym(RTLD_NEXT, "stat");
  return real(lower(path, name), found);
}
int unlink(const char* path) {
  char name[PATH_MAX];
  int (*real)(const char*) = dlsym(RTLD_NEXT, "unlink");
  return real(lower(path, name));
}
int open(const char* path, int flags, ...) {
  char name[PATH_MAX];
  int (*real)(const char*, int, int) = dlsym(RTLD_NEXT, "open");
  return real(lower(path, name), flags, 0600);
}
"""


def test_names_are_one_where_the_file_system_says_so(folder, tmp_path):
    """Imitates a file system that ignores case, by replacing the calls that a program makes."""
    compiler = shutil.which("cc")
    if compiler is None or sanitized():
        pytest.skip("needs a compiler and a program without sanitizers: not run")
    (tmp_path / "no_case.c").write_text(NO_CASE)
    library = tmp_path / "no_case.so"
    subprocess.run(
        [compiler, "-shared", "-fPIC", tmp_path / "no_case.c", "-o", library, "-ldl"], check=True
    )
    place = tmp_path / "no-case"
    place.mkdir()
    for two, status in (("RESULT", 2), ("result2", 0), ("Result\u00e9", 0)):
        files = files_of(
            "decide", folder, **{"--out": place / "result", "--refutation": place / two}
        )
        words = map(str, words_of("decide", files))
        env = os.environ | {"LD_PRELOAD": str(library)}
        done = subprocess.run(
            [program(), *words], capture_output=True, text=True, env=env, check=False
        )
        assert done.returncode == status, done.stderr
        assert ("--out and --refutation name the same file" in done.stderr) == (status == 2)
        assert {path.name for path in place.iterdir()} <= (
            {"result", two} if status == 0 else set()
        )
        for path in place.iterdir():
            path.unlink()


def test_files_of_their_own_are_written(folder):
    names = {"--out": "a", "--refutation": "A", "--problem": "a.json"}
    tamis(
        *words_of("decide", files_of("decide", folder, **{k: folder / v for k, v in names.items()}))
    )
    assert (folder / "a").exists() and (folder / "A").exists()
    tamis("profile", folder / "TRACE", "--against", folder / "--against", "--out", folder / "p")
    tamis("verify", folder / "PATTERN", folder / "WITNESS", "--json")
    done = tamis("verify", folder / "PATTERN", folder / "PATTERN", status=2)  # both are only read
    assert "safetensors" in sentence_of(done)


@pytest.mark.parametrize("json", [[], ["--json"]])
@pytest.mark.parametrize(
    ("command", "files", "option"),
    [
        ("info", {"TRACE": "TRACE"}, "TRACE"),
        ("verify", {"PATTERN": "PATTERN", "WITNESS": "WITNESS"}, "WITNESS"),
        ("realise", {"PATTERN": "PATTERN", "--out": "w"}, "--out"),
        ("realise", {"PATTERN": "PATTERN", "--out": "/dev/stdout"}, "--out"),
        ("sweep", {"--store": "s"}, "--store"),
    ],
)
def test_standard_output_is_not_one_of_the_files(folder, command, files, option, json):
    files = {name: folder / file for name, file in files.items()}
    shown = folder / "w" if option == "--out" else files[option]
    with open(shown, "ab") as out:
        before = all_of(folder)
        done = subprocess.run(
            [program(), *map(str, words_of(command, files)), *json],
            stdout=out,
            stderr=subprocess.PIPE,
            text=True,
            check=False,
        )
    assert done.returncode == 2 and option in done.stderr and "standard output" in done.stderr
    assert all_of(folder) == before


def test_under_mpirun_rank_0_says_it(folder):
    before = all_of(folder)
    ended = on_ranks(3, "sweep", "fig3", *GRID, "--store", folder / "s", "--vega", folder / "s")
    assert ended.returncode == 2 and ended.stderr.count("tamis: ") == 1, ended.stderr
    assert "--store and --vega name the same file" in ended.stderr
    assert all_of(folder) == before
