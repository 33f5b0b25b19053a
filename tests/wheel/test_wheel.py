"""A wheel, tried where only Python is: size, contents, command, import, CPUs.

`make wheel` runs these for the wheel that it made, which the variable TAMIS_WHEEL names.
"""

import os
import shutil
import statistics
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest
from conftest import ROOT

MOST_BYTES = 20_000_000
IMPORT_SECONDS = 0.5
WHEEL = Path(os.environ.get("TAMIS_WHEEL", "missing.whl"))
ATTEND = """
import numpy as np, tamis
random = np.random.default_rng(0)
keys, values = random.standard_normal((2, 2, 2000, 64), dtype=np.float32)
cache = tamis.Cache(4, 2, 64, dtype="f32")
cache.append(keys, values)
q = random.standard_normal((4, 1, 64), dtype=np.float32)
out, certificates = cache.attend(q, "mass:0.05")
logits = np.einsum("hd,htd->ht", q[:, 0], keys.repeat(2, 0).astype(float)) / 8
weights = np.exp(logits - logits.max(1, keepdims=True))
exact = np.einsum("ht,htd->hd", weights / weights.sum(1, keepdims=True), values.repeat(2, 0))
assert (certificates["tau"] <= 0.05).all() and (certificates["dense"] == 0).all()
assert (np.linalg.norm(out[:, 0] - exact, axis=1) <= certificates["error"][:, 0]).all()
print(tamis.info()["target"])
"""


@pytest.fixture(scope="module")
def tried(tmp_path_factory):
    """A new environment with the wheel, and NumPy, which it requires, in it."""
    if not WHEEL.exists():
        pytest.fail(f"TAMIS_WHEEL names no wheel: {WHEEL}")
    place = tmp_path_factory.mktemp("wheel") / "env"
    subprocess.run([sys.executable, "-m", "venv", place], check=True)
    subprocess.run([place / "bin/python", "-m", "pip", "install", "--quiet", WHEEL], check=True)
    yield place / "bin"
    shutil.rmtree(place)


def run(*command, **options):
    """Runs a command away from the sources, without this machine's settings."""
    environment = {"PATH": "/usr/bin:/bin", "HOME": "/nonexistent"}
    done = subprocess.run(
        command, capture_output=True, text=True, check=False, cwd="/", env=environment, **options
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_it_is_small_and_says_where_it_runs():
    assert WHEEL.stat().st_size < MOST_BYTES
    assert "manylinux" in WHEEL.name and WHEEL.name.endswith("_x86_64.whl")


def test_it_holds_the_package_and_nothing_of_this_machine():
    with zipfile.ZipFile(WHEEL) as wheel:
        names = wheel.namelist()
        for name in ("__init__.py", "py.typed", "_tamis.pyi", "bin/tamis"):
            assert f"tamis/{name}" in names
        assert sum(name.startswith("tamis/_tamis.") and name.endswith(".so") for name in names) == 1
        folders = {name.split("/")[0] for name in names}
        assert all(folder.startswith("tamis") for folder in folders), folders
        for name in names:
            assert str(ROOT).encode() not in wheel.read(name), name


def test_the_module_exports_its_entry_alone(tmp_path):
    with zipfile.ZipFile(WHEEL) as wheel:
        (module,) = (name for name in wheel.namelist() if name.startswith("tamis/_tamis.cpython"))
        path = wheel.extract(module, tmp_path)
    listed = run("nm", "--dynamic", "--defined-only", "--format=just-symbols", path)
    assert listed.split() == ["PyInit__tamis"]


def test_the_command_runs(tried):
    assert run(tried / "tamis", "--version").split()[-1] == WHEEL.name.split("-")[1]
    assert "target" in run(tried / "tamis", "info")
    trace = ROOT / "data/smollm2-kjv-8k-small.safetensors"
    assert "layer" in run(tried / "tamis", "info", trace)


def test_it_is_imported_soon(tried):
    timed = "import time; t = time.perf_counter(); import tamis; print(time.perf_counter() - t)"
    run(tried / "python", "-c", timed)  # compiles the files
    seconds = [float(run(tried / "python", "-c", timed)) for _ in range(5)]
    print(f"import tamis: {statistics.median(seconds):.3f} s")
    assert statistics.median(seconds) < IMPORT_SECONDS


def test_types_are_those_of_a_strict_checker(tried):
    mypy = shutil.which("mypy")
    assert mypy, "mypy is missing; deps/wheel.txt lists it"
    user = Path(__file__).with_name("user.py")
    python = f"--python-executable={tried / 'python'}"
    run(mypy, "--strict", "--no-incremental", "--cache-dir=/dev/null", python, user)
    assert "True" in run(tried / "python", user)


def test_a_cache_attends(tried):
    run(tried / "python", "-c", ATTEND)


def test_a_cache_attends_on_a_cpu_without_avx(tried):
    qemu = shutil.which("qemu-x86_64")
    assert qemu, "Debian's qemu-user is missing"
    command = (qemu, "-cpu", "Nehalem", tried / "python", "-c", ATTEND)
    assert run(*command, timeout=300).strip() == "scalar"
