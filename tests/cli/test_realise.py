"""tamis realise: NumPy confirms what it claims about the witness that it wrote."""

import json
import re
import signal
import subprocess
import time

import numpy as np
import pytest
from conftest import digest, program, sentence_of, tamis
from safetensors import safe_open
from safetensors.numpy import load_file
from witnesses import cycles, margins, save_pattern

QUICK = ["--steps", 300]


def realise(pattern, *args, status=0):
    return json.loads(tamis("realise", pattern, *args, "--json", status=status).stdout)


def check(a, out, said, eps1=0.1, eps2=1.0, causal=False, weak=False):
    """Compares the numbers of the report with those of the file, in f64; returns its tensors."""
    tensors = {name: x.astype(np.float64) for name, x in load_file(out).items()}
    q, k = tensors["q"], tensors["k"]
    logits = q @ k.T
    assert q.shape == (a.shape[0], said["dim"]) and k.shape == (a.shape[1], said["dim"])
    found = margins(a, logits, eps1, eps2, causal, weak).min()
    # Sums of dim products err by at most dim·2^-53 times the product of the norms; a margin
    # has two sums.
    norms = np.linalg.norm(q, axis=1).max() * np.linalg.norm(k, axis=1).max()
    off = 4 * (said["dim"] + 4) * 2.0**-53 * norms + 1e-9
    assert said["verified"] and said["margin"] > 0 and found > -off
    if "x" not in tensors:
        assert said["margin"] == pytest.approx(found, abs=off, rel=1e-9)
        assert said["norm_product"] == pytest.approx(norms, rel=1e-12)
        seen = np.tril(np.abs(logits)) if causal else np.abs(logits)
        assert said["max_logit"] == pytest.approx(seen.max(), abs=off)
    eps = (None, None) if weak else (eps1, eps2)
    assert said["conditions"] == dict(zip(("eps1", "eps2"), eps, strict=True)) | {
        "causal": causal,
        "weak": weak,
    }
    assert "exact" in said["arithmetic"]
    return tensors


METHODS = {
    "auto": ["--dim", 6],
    "descent": ["--dim", 6, "--method", "descent"],
    "moment": ["--method", "moment"],
    "jl": ["--method", "jl", "--dim", 24],
}


@pytest.mark.parametrize("causal", [False, True], ids=["", "causal"])
@pytest.mark.parametrize("method", METHODS)
def test_every_method_writes_what_it_reports(tmp_path, method, causal):
    a = cycles(24, 1, causal=causal)
    pattern, out = save_pattern(tmp_path / "a.npy", a), tmp_path / "w.safetensors"
    flag = ["--causal"] if causal else []
    said = realise(pattern, *METHODS[method], *QUICK, *flag, "--seed", 3, "--out", out)
    check(a, out, said, causal=causal)
    assert said["method"] == method or method == "auto"
    assert said["out"] == str(out) and said["seed"] == 3
    assert (said["redraws"] > 0) == (method == "jl")
    with safe_open(out, "np") as file:
        kept = file.metadata()
    assert (
        kept["method"] == said["method"]
        and kept["seed"] == "3"
        and kept["format"] == "tamis-witness"
    )
    again = json.loads(tamis("verify", pattern, out, *flag, "--json").stdout)
    for name in ("margin", "norm_product", "max_logit", "arithmetic", "conditions", "dim"):
        assert again[name] == said[name]


def test_other_conditions(tmp_path):
    a = cycles(20, 2, gamma=5)
    pattern, out = save_pattern(tmp_path / "a.npy", a), tmp_path / "w"
    said = realise(pattern, "--dim", 8, *QUICK, "--eps1", 0.3, "--eps2", 0.25, "--out", out)
    check(a, out, said, 0.3, 0.25)
    weak = realise(pattern, "--dim", 8, *QUICK, "--weak", "--out", out)
    check(a, out, weak, weak=True)
    assert weak["bound_6"] is weak["paper_norm"] is None
    tamis("verify", pattern, out, "--weak")
    # The report does not claim conditions that the witness was not made for.
    tamis("verify", pattern, out, status=1)
    tamis("verify", pattern, out, "--eps1", 0.001, status=1)


def test_members_of_the_report_are_those_of_the_help(tmp_path):
    a = cycles(16, 3)
    pattern = save_pattern(tmp_path / "a.npy", a)
    said = realise(pattern, "--dim", 5, *QUICK)
    text = " ".join(tamis("realise", "--help").stdout.split())
    named = re.search(r"prints \{(.*?), \.\.\.\}", text).group(1).split(", ")
    assert len(named) > 10 and set(named) <= set(said)
    assert said["rows"] == said["columns"] == 16 and said["nonzeros"] == 32 and said["out"] is None
    b = np.log(
        a / np.where(a > 0, a, np.inf).min(axis=1, keepdims=True), where=a > 0, out=np.zeros_like(a)
    )
    b = np.where(a > 0, b + np.log(10) + 1, 0)
    assert said["paper_norm"] == pytest.approx(np.linalg.norm(b, axis=1).max(), rel=1e-12)
    assert said["norm_lower_bound"] == pytest.approx(np.log(10) * 14 / 16, rel=1e-12)
    assert said["norm_lower_bound"] < said["norm_product"]
    for attempt in said["attempts"]:
        assert attempt["verified"] == (attempt["why"] == "") and attempt["seconds"] >= 0
    best = min(t["norm_product"] for t in said["attempts"] if t["verified"])
    assert best == said["norm_product"]


def test_the_table_says_the_same(tmp_path):
    pattern = save_pattern(tmp_path / "a.npy", cycles(16, 3))
    said = realise(pattern, "--dim", 5, *QUICK)
    text = tamis("realise", pattern, "--dim", 5, *QUICK, "--out", tmp_path / "w").stdout
    lines = {line.split("  ")[0]: line for line in text.splitlines() if line}
    assert f"5 columns by {said['method']}, {said['dtype']}, verified in" in lines["witness"]
    assert f"{said['norm_product']:.6g} " in lines["norm product"]
    assert f"no witness below {said['norm_lower_bound']:.6g}" in lines["norm product"]
    assert lines["max |L|"].endswith(f" {said['max_logit']:.6g}")
    assert f"{said['margin']:.6g}, row " in lines["margin"]
    assert "vacuous: above the rows" in lines["bound (6)"] and said["bound_6"] is None
    assert text.count("verified\n") == sum(t["verified"] for t in said["attempts"])
    assert text.endswith(f"wrote {tmp_path / 'w'}\n")


def test_the_fewest_columns_under_a_cap(tmp_path):
    a = cycles(24, 4)
    pattern, out = save_pattern(tmp_path / "a.npy", a), tmp_path / "w"
    said = realise(pattern, *QUICK, "--out", out)
    check(a, out, said)
    assert said["norm_product"] <= said["paper_norm"]
    fewer = [t for t in said["attempts"] if t["dim"] == said["dim"] - 1]
    assert fewer and not any(t["verified"] for t in fewer)
    wide = realise(pattern, *QUICK, "--max-norm", 1000, "--out", out)
    check(a, out, wide)
    assert wide["norm_product"] <= 1000 and wide["dim"] <= said["dim"]
    tight = realise(pattern, *QUICK, "--max-norm", 1.01 * said["norm_lower_bound"], status=1)
    assert not tight["verified"] and all(t["why"] for t in tight["attempts"])


def test_more_columns_take_smaller_norms(tmp_path):
    pattern = save_pattern(tmp_path / "a.npy", cycles(32, 5))
    norms = [realise(pattern, "--dim", dim, *QUICK)["norm_product"] for dim in (5, 8, 16)]
    assert norms == sorted(norms, reverse=True)


@pytest.mark.parametrize("hidden", [32, 45])
def test_inputs_and_weights_give_the_same_logits(tmp_path, hidden):
    a = cycles(16, 6)
    pattern, out = save_pattern(tmp_path / "a.npy", a), tmp_path / "w"
    said = realise(pattern, "--method", "jl", "--dim", 16, "--hidden", hidden, "--out", out)
    tensors = check(a, out, said)
    x, w_q, w_k = tensors["x"], tensors["w_q"], tensors["w_k"]
    assert x.shape == (16, hidden) and w_q.shape == w_k.shape == (hidden, 32)
    logits = tensors["q"] @ tensors["k"].T
    assert np.abs((x @ w_q) @ (x @ w_k).T - logits).max() < 1e-12 * np.abs(logits).max()
    # The paper's weights do not depend on the pattern.
    other = save_pattern(tmp_path / "b.npy", cycles(16, 7))
    realise(other, "--method", "jl", "--dim", 16, "--hidden", hidden, "--out", tmp_path / "v")
    assert all(
        (load_file(tmp_path / "v")[name] == load_file(out)[name]).all() for name in ("w_q", "w_k")
    )
    tamis("verify", pattern, out)


def test_relevance_judgements(tmp_path):
    qrels = tmp_path / "a.qrels"
    pairs = [(f"q{i}", f"d{(i * 7 + j * (i + 3)) % 20}") for i in range(30) for j in range(2)]
    qrels.write_text("".join(f"{q} 0 {d} 1\n" for q, d in dict.fromkeys(pairs)))
    out = tmp_path / "w"
    said = realise(qrels, "--dim", 5, *QUICK, "--out", out)
    columns = {d: j for j, d in enumerate(dict.fromkeys(d for _, d in pairs))}
    assert (said["rows"], said["columns"]) == (30, len(columns))
    assert said["bound_6"] is None and said["norm_lower_bound"] == 0
    assert "for square patterns" in tamis("realise", qrels, "--dim", 5, *QUICK).stdout
    tamis("verify", qrels, out)
    assert "30 × 20" in sentence_of(tamis("realise", qrels, "--method", "jl", "--dim", 5, status=2))


@pytest.mark.parametrize("method", METHODS)
def test_the_seed_decides_and_threads_do_not(tmp_path, method):
    pattern = save_pattern(tmp_path / "a.npy", cycles(150, 8))
    dim = {"jl": 150, "moment": 6}.get(method, 8)

    def file_of(*args):
        out = tmp_path / "w"
        realise(pattern, "--method", method, "--dim", dim, "--steps", 60, *args, "--out", out)
        return digest(out)

    one = file_of("--threads", 1, "--seed", 1)
    assert one == file_of("--threads", 1, "--seed", 1) == file_of("--threads", 3, "--seed", 1)
    assert one != file_of("--threads", 1, "--seed", 2)  # the metadata differ at least


def test_nothing_found_is_exit_1_and_no_file(tmp_path):
    a = cycles(16, 9)
    pattern = save_pattern(tmp_path / "a.npy", a)
    out = tmp_path / "w"
    done = tamis("realise", pattern, "--dim", 1, *QUICK, "--out", out, status=1)
    assert "none was found" in done.stdout and done.stderr == "" and "wrote" not in done.stdout
    said = realise(pattern, "--dim", 1, *QUICK, "--out", out, status=1)
    assert not said["verified"] and said["out"] is None and said["arithmetic"] == []
    assert all(
        said[name] is None for name in ("method", "dim", "max_logit", "norm_product", "margin")
    )
    draws = ["--method", "jl", "--dim", 2, "--redraws", 5]
    failed = realise(pattern, *draws, "--out", out, status=1)
    assert failed["attempts"][0]["why"] == "no draw met the conditions"
    assert [p.name for p in tmp_path.iterdir()] == ["a.npy"]


def test_ratios_beyond_f64(tmp_path):
    a = np.array([[1e-200, 1e200, 0], [0, 1e-200, 1e200], [1e200, 0, 1e-200]])
    pattern, out = save_pattern(tmp_path / "a.npy", a), tmp_path / "w"
    said = realise(pattern, "--method", "jl", "--out", out)
    check(a, out, said)
    assert said["bound_6"] is said["bound_sharper"] is None
    smallest, largest = 1 + np.log(10), 400 * np.log(10) + 1 + np.log(10)
    assert said["paper_norm"] == pytest.approx(np.hypot(smallest, largest), rel=1e-12)
    tamis("frontier", pattern, "--dims", 2, "--steps", 10)


SQUARE = cycles(8, 1)
BAD = {
    "empty row": (np.diag([1.0, 0, 1]), [], "row 1 has no nonzero"),
    "negative entry": (np.diag([1.0, -2, 1]), [], "-2"),
    "infinite entry": (np.diag([1.0, np.inf, 1]), [], "inf"),
    "NaN": (np.diag([1.0, np.nan, 1]), [], "nan"),
    "eps1 of 1": (SQUARE, ["--eps1", 1], "eps1 is 1; it must be a number above 0 and below 1"),
    "eps1 of 0": (SQUARE, ["--eps1", 0], "eps1 is 0"),
    "eps1 below 0": (SQUARE, ["--eps1=-0.5"], "eps1 is -0.5"),
    "eps1 NaN": (SQUARE, ["--eps1", "nan"], "eps1 is nan"),
    "eps2 of 0": (SQUARE, ["--eps2", 0], "eps2 is 0; it must be a finite number above 0"),
    "eps2 infinite": (SQUARE, ["--eps2", "inf"], "eps2 is inf"),
    "weak with eps1": (SQUARE, ["--weak", "--eps1", 0.5], "--weak looks at neither"),
    "d above 2n": (SQUARE, ["--method", "jl", "--dim", 9], "from 1 to 8"),
    "hidden below d": (
        SQUARE,
        ["--method", "jl", "--dim", 8, "--hidden", 15],
        "15 is below d = 16",
    ),
    "hidden without jl": (SQUARE, ["--dim", 4, "--hidden", 64], "only method jl"),
    "jl of weak conditions": (
        SQUARE,
        ["--method", "jl", "--dim", 8, "--weak"],
        "needs eps1 and eps2",
    ),
    "jl of a rectangle": (np.ones((2, 3)), ["--method", "jl", "--dim", 2], "2 × 3"),
    "above the diagonal": (SQUARE, ["--causal"], "above the diagonal"),
    "causal rectangle": (np.ones((2, 3)), ["--causal"], "square"),
    "dimension 0": (SQUARE, ["--dim", 0], "dimension 0"),
    "moment in too few": (SQUARE, ["--method", "moment", "--dim", 3], "at least 4"),
    "norm 0": (SQUARE, ["--max-norm", 0], "above 0"),
    "norm of weak conditions": (
        SQUARE,
        ["--max-norm", 9, "--weak"],
        "weak conditions hold at any scale",
    ),
    "too many columns": (SQUARE, ["--dim", 10**11], "from 1 to 8"),
    "norm NaN": (SQUARE, ["--max-norm", "nan"], "above 0"),
    "no method": (SQUARE, ["--method", "magic"], "there is no 'magic'"),
    "no steps": (SQUARE, ["--steps", 0], "--steps: '0' is not a whole number from 1 on"),
    "no redraws": (SQUARE, ["--redraws", -1], "--redraws: '-1' is not"),
}


@pytest.mark.parametrize("name", BAD)
def test_bad_input_is_one_sentence(tmp_path, name):
    a, options, part = BAD[name]
    pattern = save_pattern(tmp_path / "a.npy", a)
    out = tmp_path / "w"
    sentence = sentence_of(tamis("realise", pattern, *options, "--out", out, status=2))
    assert part in sentence and len(sentence.replace(str(tmp_path), "")) < 150, sentence
    assert not out.exists()


def test_places_that_cannot_be_written_are_found_before_the_work(tmp_path):
    pattern = save_pattern(tmp_path / "a.npy", cycles(16, 1))
    before = digest(pattern)
    long = ["--dim", 4, "--steps", 10**12]
    itself = tamis("realise", pattern, *long, "--out", tmp_path / "." / "a.npy", status=2)
    assert "is the file that PATTERN reads" in sentence_of(itself) and digest(pattern) == before
    nowhere = tamis("realise", pattern, *long, "--out", tmp_path / "no" / "w", status=3)
    assert "--out: " in sentence_of(nowhere) and "there is no folder" in sentence_of(nowhere)
    assert "is a directory" in sentence_of(
        tamis("realise", pattern, *long, "--out", tmp_path, status=2)
    )
    assert [p.name for p in tmp_path.iterdir()] == ["a.npy"]


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
@pytest.mark.parametrize("command", ["realise", "frontier"])
def test_ctrl_c_ends_by_the_signal_and_leaves_no_file(tmp_path, command, number):
    pattern = save_pattern(tmp_path / "a.npy", cycles(64, 1))
    place = ["--dim", "8", "--out"] if command == "realise" else ["--dims", "8", "--vega"]
    running = subprocess.Popen(
        [program(), command, pattern, "--steps", "1000000000", *place, tmp_path / "w"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
    time.sleep(0.8)
    running.send_signal(number)
    shown, errors = running.communicate(timeout=60)
    assert running.returncode == -number and shown == errors == b""
    assert [p.name for p in tmp_path.iterdir()] == ["a.npy"]
