"""tamis decide: known answers are found, and NumPy checks the proofs in the written files."""

import json
import re
import shutil
from itertools import combinations

import numpy as np
import pytest
from conftest import digest, tamis
from refutations import exact, refutes, weakly_produces
from safetensors import safe_open
from safetensors.numpy import load_file
from witnesses import save_pattern


def decide(pattern, *args):
    return json.loads(tamis("decide", pattern, *args, "--json").stdout)


def pairs(n):
    rows = np.zeros((n * (n - 1) // 2, n))
    for row, pair in zip(rows, combinations(range(n), 2), strict=True):
        row[list(pair)] = 1
    return rows


def shuffled(a, seed):
    random = np.random.default_rng(seed)
    return np.ascontiguousarray(
        a[random.permutation(a.shape[0])][:, random.permutation(a.shape[1])]
    )


def band(n, reach):
    places = np.arange(n)
    return (np.abs(places[:, None] - places) <= reach) * 1.0


def hadamard(doublings):
    signs = np.ones((1, 1))
    for _ in range(doublings):
        signs = np.block([[signs, signs], [signs, -signs]])
    return (signs > 0) * 1.0


def random_half(rows, columns, seed):
    random = np.random.default_rng(seed)
    a = (random.random((rows, columns)) < 0.5) * 1.0
    a[np.arange(rows), random.integers(0, columns, rows)] = 1
    return a


def check_witness(a, path, columns, hidden=None):
    """Checks both forms that the file holds, in exact arithmetic; returns its tensors."""
    tensors = load_file(path)
    n = a.shape[0]
    with safe_open(path, "np") as file:
        assert file.metadata()["weak"] == "true" and file.metadata()["format"] == "tamis-witness"
    assert tensors.keys() & {"q", "x"}
    if "q" in tensors:
        assert tensors["q"].shape == (n, columns) and tensors["k"].shape == (a.shape[1], columns)
        assert weakly_produces(a, exact(tensors["q"]) @ exact(tensors["k"]).T)
    if a.shape[0] == a.shape[1]:
        x, w_q, w_k = (exact(tensors[name]) for name in ("x", "w_q", "w_k"))
        assert x.shape == (n, hidden or 2 * columns) and w_q.shape == w_k.shape == (
            x.shape[1],
            columns,
        )
        assert weakly_produces(a, (x @ w_q) @ (x @ w_k).T)
        if "q" in tensors:
            assert (x @ w_q == tensors["q"]).all() and (x @ w_k == tensors["k"]).all()
    else:
        assert "x" not in tensors
    return tensors


def proved(folder, a, *args):
    """Checks all claims of the report from its files, here and by tamis verify; returns it."""
    pattern, w, r = save_pattern(folder / "a.npy", a), folder / "w", folder / "r"
    for old in (w, r):
        old.unlink(missing_ok=True)
    said = decide(pattern, *args, "--out", w, "--refutation", r)
    assert (said["rows"], said["columns"], said["nonzeros"]) == (*a.shape, (a != 0).sum())
    lower, upper = said["evidence"]["lower"], said["evidence"]["upper"]
    assert (
        w.exists() == (said["out"] == str(w)) == (upper is not None) == (said["upper"] is not None)
    )
    assert (
        r.exists() == (said["refutation"] == str(r)) == (lower is not None) == (said["lower"] > 1)
    )
    if upper:
        assert upper["columns"] == said["upper"] >= said["lower"] and "exact" in upper["arithmetic"]
        check_witness(a, w, said["upper"], said["hidden"])
        checked = json.loads(tamis("verify", pattern, w, "--weak", "--json").stdout)
        assert checked["holds"] and checked["conditions"] == checked["claimed"]
        assert (checked["margin"], checked["arithmetic"]) == (upper["margin"], upper["arithmetic"])
    if lower:
        claim = json.loads(r.read_text())
        assert claim["dim"] == said["lower"] - 1 and lower["proved"] and refutes(a, claim)
        assert {k: v for k, v in lower.items() if k in claim} == {
            k: v for k, v in claim.items() if k in lower
        }
        checked = json.loads(tamis("verify", pattern, r, "--json").stdout)
        assert checked["holds"] and checked["why"] == "" and checked["grounds"] == claim["grounds"]
        assert (checked["dim"], checked["hidden"]) == (claim["dim"], claim["hidden"])
    return said


KNOWN = {
    "all ones": (np.ones((5, 5)), 1),
    "one column": (np.ones((3, 1)), 1),
    "one row": (np.array([[1.0, 0, 2, 0]]), 1),
    "a staircase": (np.tril(np.ones((9, 9))), 1),
    "a staircase from both sides": (
        np.vstack([np.tril(np.ones((5, 5))), np.triu(np.ones((5, 5)))]),
        1,
    ),
    "identity of 2": (np.eye(2), 1),
    "identity": (np.eye(9), 2),
    "complement of the identity": (1 - np.eye(9), 2),
    "band": (shuffled(band(14, 1), 3), 2),
    "wide band": (shuffled(band(12, 3), 5), 2),
    "pairs of 6": (pairs(6), 4),
    "pairs of 12": (shuffled(pairs(12), 7), 4),
    "subsets of 4": (np.array([[i >> j & 1 for j in range(4)] for i in range(1, 16)], float), 3),
    "a rectangle": (np.hstack([np.eye(5), np.eye(5), np.ones((5, 2))]), 2),
}


@pytest.mark.parametrize("name", KNOWN)
def test_d_min_is_known(tmp_path, name):
    a, least = KNOWN[name]
    said = proved(tmp_path, a)
    assert (said["verdict"], said["dim"], said["lower"], said["upper"]) == (
        "yes",
        least,
        least,
        least,
    )
    assert not said["interrupted"] and said["hidden"] is None


@pytest.mark.parametrize("name", ["identity", "pairs of 6"])
def test_a_dimension_asked_about(tmp_path, name):
    a, least = KNOWN[name]
    below = proved(tmp_path, a, "--dim", least - 1)
    assert (below["verdict"], below["dim"], below["lower"]) == ("no", least - 1, least)
    for dim in (least, least + 3):
        said = proved(tmp_path, a, "--dim", dim)
        assert (said["verdict"], said["dim"]) == ("yes", dim) and said["upper"] <= dim


@pytest.mark.parametrize("doublings", [4, 5, 6])
def test_hadamard_signs_need_what_forster_says(tmp_path, doublings):
    # The pattern has a row of ones, so its sign-rank is at least sqrt(n) and d_min is one less.
    bound = int(np.ceil(2 ** (doublings / 2))) - 1
    a = hadamard(doublings)
    said = proved(tmp_path, a, "--dim", bound - 1, "--no-solvers")
    assert said["verdict"] == "no" and said["lower"] >= bound
    if doublings == 6:  # this matrix has too many full sets
        assert said["evidence"]["lower"]["grounds"] == "spectral"
        assert "64 rows and 64 columns" in said["evidence"]["lower"]["words"]


def test_queries_and_keys_of_one_input(tmp_path):
    """A case where the printed algorithm errs, and a pattern that needs c of both signs."""
    said = proved(
        tmp_path, np.array([[1.0, 0, 0], [0, 0, 1], [1, 1, 1]]), "--dim", 1, "--hidden", 1
    )
    assert (said["verdict"], said["upper"], said["hidden"]) == ("yes", 1, 1)
    a = np.array([[0.0, 0, 1], [0, 1, 0], [0, 1, 0]])
    assert proved(tmp_path, a, "--dim", 1)["verdict"] == "yes"
    said = proved(tmp_path, a, "--dim", 1, "--hidden", 1)
    assert said["verdict"] == "no" and said["evidence"]["lower"]["grounds"] == "sign conflict"
    assert "c must be positive (row 1 and row 0" in said["evidence"]["lower"]["words"]


@pytest.mark.parametrize("hidden", [2, 3, 4, 9, 20])
def test_every_hidden_size_of_the_identity(tmp_path, hidden):
    said = proved(tmp_path, np.eye(9), "--hidden", hidden)
    assert (said["verdict"], said["upper"], said["hidden"]) == ("yes", 2, hidden)


def test_a_hidden_size_that_is_too_small_for_any_dimension(tmp_path):
    said = proved(tmp_path, np.eye(9), "--hidden", 1)
    assert (said["verdict"], said["lower"], said["upper"], said["dim"]) == ("no", 2, None, None)


@pytest.mark.skipif(not shutil.which("cadical"), reason="cadical is not installed: not run")
def test_order_proofs_of_random_patterns(tmp_path):
    grounds = []
    for seed, n in enumerate([8, 8, 9, 9, 10, 11, 12]):
        said = proved(tmp_path, random_half(n, n, seed), "--dim", 2)
        assert said["verdict"] in ("yes", "no")
        if said["verdict"] == "no":
            grounds.append(said["evidence"]["lower"]["grounds"])
    assert "order proof" in grounds
    assert decide(tmp_path / "a.npy", "--dim", 2, "--no-solvers")["verdict"] in ("no", "open")


def test_members_of_the_report_are_those_of_the_help(tmp_path):
    said = decide(save_pattern(tmp_path / "a.npy", np.eye(4)), "--seed", 5, "--time-limit", 7.5)
    text = " ".join(tamis("decide", "--help").stdout.split())
    named = re.search(r"prints \{(.*?), \.\.\.\}", text).group(1).split(", ")
    assert len(named) >= 7 and set(named) <= set(said)
    assert (said["seed"], said["time_limit"]) == (5, 7.5) and 0 <= said["seconds"] < 120
    assert said["out"] is said["refutation"] is said["problem"] is None
    assert said["trials"][0]["what"] == "line" and said["trials"][0]["dim"] == 1
    for trial in said["trials"]:
        assert set(trial) == {"what", "times", "dim", "outcome", "seconds"} and trial["outcome"]
    assert sum(trial["seconds"] for trial in said["trials"]) <= said["seconds"] + 1e-6


def test_the_table_says_the_same(tmp_path):
    pattern = save_pattern(tmp_path / "a.npy", pairs(7))
    said = decide(pattern)
    w, r = tmp_path / "w", tmp_path / "r"
    text = tamis("decide", pattern, "--out", w, "--refutation", r).stdout
    lines = {line.split("  ")[0]: line for line in text.splitlines() if line}
    assert lines["pattern"].endswith("21 rows × 7 columns, 42 nonzeros")
    assert lines["verdict"].endswith(" d_min = 4")
    assert (
        said["evidence"]["lower"]["words"] in lines["lower bound"]
        and "4, proved: " in lines["lower bound"]
    )
    assert (
        f"4: witness by {said['evidence']['upper']['method']}, verified in" in lines["upper bound"]
    )
    assert text.count("a witness, verified\n") == sum(
        trial["outcome"] == "a witness, verified" for trial in said["trials"]
    )
    assert text.endswith(f"\nwrote {w}\nwrote {r}\n")
    below = tamis("decide", pattern, "--dim", 3).stdout
    assert re.search(r"^verdict +no: not in 3 columns; d_min ≥ 4, no witness was found$|"
                     r"^verdict +no: not in 3 columns; 4 ≤ d_min ≤ \d+$", below, re.M)  # fmt: skip
    assert re.search(r"^verdict +yes: in 4 columns, so in 6 as well$",
                     tamis("decide", save_pattern(pattern, pairs(6)), "--dim", 6).stdout, re.M)  # fmt: skip


def test_the_words_name_what_is_in_the_pattern(tmp_path):
    a = np.array([[1.0, 1, 0, 0], [1, 0, 1, 0]])
    lower = decide(save_pattern(tmp_path / "a.npy", a), "--dim", 1)["evidence"]["lower"]
    told = re.fullmatch(
        r"row (\d) and row (\d) cross: both have column (\d), neither has column (\d), "
        r"one has only column (\d), the other only column (\d)\.",
        lower["words"],
    )
    one, other, both, neither, first, second = map(int, told.groups())
    assert a[one, both] and a[other, both] and not a[one, neither] and not a[other, neither]
    assert a[one, first] and not a[other, first] and a[other, second] and not a[one, second]


def test_relevance_judgements_are_named(tmp_path):
    subjects = ["tides", "bees", "glaciers", "violins", "bridges", "saffron"]
    qrels = tmp_path / "a.qrels"
    lines = [
        f"{a}-{b} 0 {subject}.txt 1\n" for a, b in combinations(subjects, 2) for subject in (a, b)
    ]
    qrels.write_text("".join(lines))
    r = tmp_path / "r"
    said = decide(qrels, "--refutation", r)
    assert (said["rows"], said["columns"], said["dim"]) == (15, 6, 4)
    claim, words = json.loads(r.read_text()), said["evidence"]["lower"]["words"]
    assert claim["grounds"] == "full set" and words.startswith("Every way to divide documents ")
    documents, queries = re.search(r"documents (.*) in two .* queries (.*);", words).groups()
    columns = list(dict.fromkeys(line.split()[2] for line in lines))
    rows = list(dict.fromkeys(line.split()[0] for line in lines))
    assert documents.split(", ") == [columns[j] for j in claim["elements"]]
    assert queries.split(", ") == ["(ones)" if i < 0 else rows[i] for i in claim["cuts"]]
    text = tamis("decide", qrels).stdout
    assert "15 queries × 6 documents" in text and words in text
    line = decide(qrels, "--dim", 1)["evidence"]["lower"]["words"]
    assert re.search(r"query tides-\w+ and query", line) and "document tides.txt" in line
    assert words in tamis("verify", qrels, r).stdout


def test_a_refutation_holds_of_its_own_pattern_only(tmp_path):
    pattern, r = save_pattern(tmp_path / "a.npy", pairs(6)), tmp_path / "r"
    decide(pattern, "--refutation", r)
    other = pairs(6)
    claim = json.loads(r.read_text())
    other[max(claim["cuts"]), claim["elements"]] = 1
    done = tamis("verify", save_pattern(tmp_path / "b.npy", other), r, status=1)
    assert "verdict       no: cut " in done.stdout and done.stderr == ""
    smaller = json.loads(
        tamis("verify", save_pattern(tmp_path / "c.npy", np.eye(2)), r, "--json", status=1).stdout
    )
    assert (
        smaller["holds"] is False and smaller["why"] == "an element or a cut is not in the pattern"
    )


TAMPERED = {
    "dimension": (pairs(6), {"dim": 4}, "5 elements refute dimension 3, not 4"),
    "elements": (pairs(6), {"elements": [0, 1, 2, 3, 3]}, "does not make the split"),
    "fewer cuts": (pairs(6), {"cuts": [-1]}, "2^(c - 1) cuts are needed"),
    "rows for columns": (pairs(6), {"of_columns": False}, "not in the pattern"),
    "circle": (np.eye(3), {"relations": []}, "there are no relations"),
    "norm": (hadamard(6), {"dim": 7}, "the norm is not shown"),
    "weight": (hadamard(6), {"row_weights": [2**25] * 64}, "weights must be"),
    "weights": (hadamard(6), {"row_weights": []}, "one weight each"),
}


@pytest.mark.parametrize("name", TAMPERED)
def test_a_refutation_that_was_tampered_with_does_not_hold(tmp_path, name):
    a, change, why = TAMPERED[name]
    pattern, r = save_pattern(tmp_path / "a.npy", a), tmp_path / "r"
    decide(pattern, "--refutation", r, "--no-solvers", "--time-limit", 2)
    claim = json.loads(r.read_text())
    tamis("verify", pattern, r)
    assert set(change) <= set(claim)
    r.write_text(json.dumps(claim | change))
    said = json.loads(tamis("verify", pattern, r, "--json", status=1).stdout)
    assert said["holds"] is False and why in said["why"]


@pytest.mark.skipif(not shutil.which("cadical"), reason="cadical is not installed: not run")
def test_an_order_proof_without_its_steps_does_not_hold(tmp_path):
    for seed in range(20):
        pattern, r = save_pattern(tmp_path / "a.npy", random_half(9, 9, seed)), tmp_path / "r"
        said = decide(pattern, "--dim", 2, "--refutation", r)
        if said["evidence"]["lower"]["grounds"] == "order proof":
            break
    claim = json.loads(r.read_text())
    assert claim["clauses"].endswith("\n0\n")
    for change in ({"clauses": "0\n"}, {"cuts": claim["cuts"][1:]}):
        r.write_text(json.dumps(claim | change))
        assert json.loads(tamis("verify", pattern, r, "--json", status=1).stdout)["why"]
        assert not refutes(np.load(pattern), claim | change)


DECIDED_SOON = {name: KNOWN[name][0] for name in ("identity", "band", "pairs of 12", "a rectangle")}
DECIDED_SOON["by descent"] = random_half(10, 10, 4)


@pytest.mark.parametrize("name", DECIDED_SOON)
def test_the_seed_decides_and_threads_do_not(tmp_path, name):
    pattern = save_pattern(tmp_path / "a.npy", DECIDED_SOON[name])

    def files_of(*args):
        decide(pattern, "--seed", 1, *args, "--out", tmp_path / "w", "--refutation", tmp_path / "r")
        return digest(tmp_path / "w"), digest(tmp_path / "r")

    assert files_of("--threads", 1) == files_of("--threads", 1) == files_of("--threads", 2)
