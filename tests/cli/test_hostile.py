"""Files that claim far more than they hold: memory follows their size, and time has a limit."""

import json
import resource
import time

import numpy as np
import pytest
from conftest import sanitized, sentence_of, tamis
from safetensors.numpy import save_file

MEMORY = 1 << 29  # bytes of address space; the program takes most of it at rest
MANY = 2**31 - 1  # columns
COLUMNS = [10**7, MANY]


def confined(*args, status=0):
    """Runs the program with this much address space."""
    return tamis(
        *args, "--threads", 1, status=status,
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY)),
    )  # fmt: skip


@pytest.fixture(autouse=True)
def _no_sanitizer():
    if sanitized():
        pytest.skip("sanitizers map terabytes of shadow memory")


@pytest.fixture(params=COLUMNS, ids=str)
def wide(request, tmp_path):
    """Column 1 equals the last, two others have an entry and the rest none. d_min is 2."""
    path = tmp_path / "wide.mtx"
    path.write_text(
        "%%MatrixMarket matrix coordinate pattern general\n"
        f"3 {request.param} 4\n1 1\n2 2\n3 3\n1 {request.param}\n"
    )
    return path


def columns_of(path):
    return int(path.read_text().splitlines()[1].split()[1])


def test_columns_without_a_nonzero_cost_nothing_to_decide(wide):
    said = json.loads(confined("decide", wide, "--no-solvers", "--json").stdout)
    assert (said["verdict"], said["dim"], said["columns"]) == ("yes", 2, columns_of(wide))
    assert said["evidence"]["upper"]["columns"] == 2


def test_a_refutation_is_of_the_columns_of_the_file(wide, tmp_path):
    refutation = tmp_path / "r.json"
    confined("decide", wide, "--no-solvers", "--refutation", refutation)
    assert json.loads(confined("verify", wide, refutation, "--json").stdout)["holds"]


def test_a_witness_too_large_for_its_file_is_refused_before_the_work(tmp_path):
    path = tmp_path / "wide.mtx"
    path.write_text(f"%%MatrixMarket matrix coordinate pattern general\n1 {MANY} 1\n1 7\n")
    for args in (["decide", path, "--out", tmp_path / "w"], ["realise", path, "--dim", 2]):
        said = sentence_of(confined(*args, status=2))
        assert f"{MANY} columns and only 1 nonzeros" in said and "GiB" in said
    assert not (tmp_path / "w").exists()


def test_a_frontier_needs_no_key_for_every_column(wide):
    said = json.loads(confined("frontier", wide, "--dims", "2,3", "--steps", 50, "--json").stdout)
    assert said["columns"] == columns_of(wide)
    assert any(point["verified"] for point in said["points"])


def test_a_witness_is_spread_over_the_columns(tmp_path):
    path, out = tmp_path / "wide.mtx", tmp_path / "w.safetensors"
    path.write_text("%%MatrixMarket matrix coordinate pattern general\n2 100000 2\n1 1\n2 100000\n")
    confined("realise", path, "--dim", 2, "--steps", 50, "--out", out)
    assert json.loads(confined("verify", path, out, "--json").stdout)["holds"]
    decided = tmp_path / "d.safetensors"
    confined("decide", path, "--no-solvers", "--out", decided)
    assert json.loads(confined("verify", path, decided, "--weak", "--json").stdout)["holds"]


def test_describing_a_pattern_takes_memory_for_its_nonzeros(wide, tmp_path):
    said = json.loads(confined("pattern", wide, "--out", tmp_path / "copy.mtx", "--json").stdout)
    assert (said["columns"], said["nonzeros"], said["k_columns"]) == (columns_of(wide), 4, 1)


def test_a_witness_of_other_sizes_is_refused_before_anything_is_made_of_it(wide, tmp_path):
    witness = tmp_path / "w.safetensors"
    save_file({"q": np.ones((3, 2), np.float32), "k": np.ones((4, 2), np.float32)}, witness)
    said = sentence_of(confined("verify", wide, witness, status=2))
    assert f"has 4 rows and the pattern has {columns_of(wide)} columns" in said


SIZES = {
    f"{2**31} 3 1\n1 1 1": "rows but only 1 entries",
    f"{2**62} {2**62} 1\n1 1 1": "rows but only 1 entries",
    f"3 3 {2**31}\n1 1 1": "announces",
    f"3 3 {2**62}\n1 1 1": "announces",
    f"1 {2**63} 1\n1 1 1": "from 0 to 2^63",
    "0 0 0": "gives 0 × 0; a pattern needs at least one row and one column",
}


@pytest.mark.parametrize("sizes", SIZES)
@pytest.mark.parametrize("command", ["decide", "realise", "frontier", "pattern", "verify"])
def test_sizes_that_the_file_does_not_hold_are_refused(command, sizes, tmp_path):
    path = tmp_path / "p.mtx"
    path.write_text(f"%%MatrixMarket matrix coordinate real general\n{sizes}\n")
    witness = [path] if command == "verify" else []
    assert SIZES[sizes] in sentence_of(confined(command, path, *witness, status=2))


def test_an_array_that_claims_more_than_it_holds_is_refused(tmp_path):
    path = tmp_path / "p.npy"
    header = f"{{'descr': '|u1', 'fortran_order': False, 'shape': (1, {2**40}), }}"
    header += " " * (117 - len(header)) + "\n"
    path.write_bytes(b"\x93NUMPY\x01\x00" + len(header).to_bytes(2, "little") + header.encode())
    for command in ("decide", "realise", "frontier", "pattern"):
        assert "needs 1099511627776 bytes" in sentence_of(confined(command, path, status=2))


def test_the_time_limit_holds_whatever_is_claimed(wide):
    began = time.monotonic()
    confined("decide", wide, "--time-limit", 1, "--json")
    assert time.monotonic() - began < 60


def test_the_time_limit_holds_for_many_rows_and_columns(tmp_path):
    many = 90_000  # a megabyte, whose pairs take minutes
    path = tmp_path / "diagonal.mtx"
    entries = "".join(f"{i} {i}\n" for i in range(1, many + 1))
    path.write_text(
        f"%%MatrixMarket matrix coordinate pattern general\n{many} {many} {many}\n{entries}"
    )
    began = time.monotonic()
    done = tamis(
        "decide", path, "--time-limit", 2, "--no-solvers", "--threads", 1, "--json",
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_AS, (2 * MEMORY, 2 * MEMORY)),
    )  # fmt: skip
    assert time.monotonic() - began < 60
    assert json.loads(done.stdout)["verdict"] == "open"


def test_the_time_limit_counts_from_the_start(tmp_path):
    lines = 1_000_000  # some tenths of a second
    path = tmp_path / "long.mtx"
    entries = "".join(f"{1 + i} {1 + i % 7}\n" for i in range(lines))
    path.write_text(
        f"%%MatrixMarket matrix coordinate pattern general\n{lines} 7 {lines}\n{entries}"
    )
    said = sentence_of(tamis("decide", path, "--time-limit", 0.001, status=3))
    assert said == f"{path}: cannot be read within the time limit of 0.001 seconds; give more"


def test_where_there_is_nothing_to_check_no_margin_is_given(tmp_path):
    path, out = tmp_path / "ones.mtx", tmp_path / "w.safetensors"
    path.write_text("%%MatrixMarket matrix array real general\n1 2\n1\n1\n")
    for args in (
        ["realise", path, "--weak", "--dim", 1, "--out", out],
        ["verify", path, out, "--weak"],
        ["decide", path],
    ):
        said = tamis(*args).stdout
        assert "inf" not in said and "row -1" not in said, said
