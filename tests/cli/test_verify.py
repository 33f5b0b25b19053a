"""tamis verify: its verdicts agree with NumPy on the same files, and bad files are named."""

import json

import numpy as np
import pytest
from conftest import sentence_of, tamis
from safetensors.numpy import save_file
from witnesses import margins, save_pattern

EPS = {"eps1": "0.1", "eps2": "1", "causal": "false", "weak": "false"}


def planted(n, seed, causal=False):
    """A pattern and logits that realise it with some margin."""
    random = np.random.default_rng(seed)
    a = np.where(random.random((n, n)) < 0.2, random.choice([1.0, 3.0], (n, n)), 0) + np.eye(n)
    if causal:
        a = np.tril(a)
    with np.errstate(divide="ignore"):
        logits = np.where(a > 0, np.log(a), -4) + 0.2 * random.random((n, n))
    return a, logits


@pytest.mark.parametrize("causal", [False, True])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_agrees_with_numpy(tmp_path, causal, dtype):
    a, logits = planted(30, 1, causal)
    logits[7, 3 if a[7, 3] == 0 else 4] += 2.5  # spoils a row or leaves it as it is
    q, k = logits.astype(dtype), np.eye(30, dtype=dtype)
    pattern = save_pattern(tmp_path / "a.npy", a)
    save_file({"q": q, "k": k}, tmp_path / "w", EPS | {"causal": str(causal).lower(), "seed": "5"})
    expected = margins(a, q @ k.T, causal=causal)
    holds = bool((expected > 0).all())
    flag = ["--causal"] if causal else []
    done = tamis("verify", pattern, tmp_path / "w", *flag, "--json", status=0 if holds else 1)
    said = json.loads(done.stdout)
    assert said["holds"] == holds and said["failing_rows"] == (expected <= 0).sum()
    assert said["worst_row"] == expected.argmin()
    assert said["margin"] == pytest.approx(expected.min(), rel=1e-9)
    assert ("exact" in said["arithmetic"]) == holds
    assert said["conditions"] == {"eps1": 0.1, "eps2": 1, "causal": causal, "weak": False}
    assert said["claimed"] == said["conditions"]
    assert said["made_by"] == {"seed": "5"}
    norms = [np.linalg.norm(x.astype(np.float64), axis=1).max() for x in (q, k)]
    assert said["norm_product"] == pytest.approx(norms[0] * norms[1], rel=1e-12)
    visible = np.tril(np.abs(q)) if causal else np.abs(q)
    assert said["max_logit"] == visible.max() and said["dim"] == 30


def test_inputs_and_weights(tmp_path):
    random = np.random.default_rng(3)
    x = random.standard_normal((12, 6))
    w_q, w_k = 2 * random.standard_normal((2, 6, 5))
    logits = (x @ w_q) @ (x @ w_k).T
    a = (logits == logits.max(axis=1, keepdims=True)).astype(float)
    pattern = save_pattern(tmp_path / "a.npy", a)
    save_file({"x": x, "w_q": w_q, "w_k": w_k}, tmp_path / "w", EPS)
    said = json.loads(tamis("verify", pattern, tmp_path / "w", "--weak", "--json").stdout)
    assert said["margin"] == pytest.approx(margins(a, logits, weak=True).min(), rel=1e-9)
    assert said["dim"] == 5


STRICT = {"eps1": 0.1, "eps2": 1, "causal": False, "weak": False}
# How logits are spoilt, what the file then claims, and the conditions that this means.
EASY = {
    "weak": (1e-30, {"weak": "true"}, {"eps1": None, "eps2": None, "causal": False, "weak": True}),
    "eps1": (0.01, {"eps1": "0.99999", "eps2": "1.5"}, STRICT | {"eps1": 0.99999, "eps2": 1.5}),
    "eps2": (3, {"eps2": "1e9"}, STRICT | {"eps2": 1e9}),
    "causal": (1, {"causal": "true"}, STRICT | {"causal": True}),
}


@pytest.mark.parametrize("name", EASY)
def test_what_a_witness_claims_is_shown_and_not_believed(tmp_path, name):
    scale, claim, claimed = EASY[name]
    a, logits = planted(20, 6, causal=True)
    if name == "causal":
        logits[np.triu_indices(20, 1)] = 50
    pattern, w = save_pattern(tmp_path / "a.npy", a), tmp_path / "w"
    save_file({"q": scale * logits, "k": np.eye(20)}, w, EPS | claim)
    said = json.loads(tamis("verify", pattern, w, "--json", status=1).stdout)
    assert not said["holds"] and said["conditions"] == STRICT and said["claimed"] == claimed
    assert said["margin"] == pytest.approx(margins(a, scale * logits).min(), rel=1e-9)
    text = tamis("verify", pattern, w, status=1).stdout
    assert (
        "conditions    eps1 0.1, eps2 1\nclaimed       " in text
        and "(not checked; --as-claimed" in text
    )
    said = json.loads(tamis("verify", pattern, w, "--as-claimed", "--json").stdout)
    assert said["holds"] and said["conditions"] == said["claimed"] == claimed
    assert "claimed       the same" in tamis("verify", pattern, w, "--as-claimed").stdout


def test_options_stand_above_what_the_witness_claims(tmp_path):
    a, logits = planted(10, 4)
    pattern = save_pattern(tmp_path / "a.npy", a)
    save_file({"q": logits, "k": np.eye(10)}, tmp_path / "w", EPS | {"weak": "true"})

    def margin(*options, status=0):
        return json.loads(
            tamis("verify", pattern, tmp_path / "w", "--json", *options, status=status).stdout
        )["margin"]

    weak = margins(a, logits, weak=True).min()
    assert margin("--weak") == margin("--as-claimed") == pytest.approx(weak, rel=1e-9)
    assert margin() == pytest.approx(margins(a, logits).min(), rel=1e-9)
    tight = margins(a, logits, 0.1, 0.01).min()
    assert tight < 0
    for claim in ([], ["--as-claimed"]):
        assert margin("--eps1", 0.5, *claim) == pytest.approx(
            margins(a, logits, 0.5, 1).min(), rel=1e-9
        )
        assert margin("--eps2", 0.01, *claim, status=1) == pytest.approx(tight, rel=1e-9)


def test_the_table_and_the_number_of_threads(tmp_path):
    a, logits = planted(50, 5)
    pattern = save_pattern(tmp_path / "a.npy", a)
    save_file({"q": logits, "k": np.eye(50)}, tmp_path / "w", EPS)
    one = tamis("verify", pattern, tmp_path / "w", "--threads", 1).stdout
    assert one == tamis("verify", pattern, tmp_path / "w", "--threads", 3).stdout
    assert "every condition holds, exactly" in one
    assert [line.split()[0] for line in one.splitlines()[-3:]] == ["f32", "f64", "exact"]


BAD = {
    "rows differ": (
        np.eye(3),
        {"q": np.eye(2), "k": np.eye(2)},
        [],
        "tensor 'q' of the witness has 2 rows",
    ),
    "above the diagonal": (
        np.ones((2, 2)),
        {"q": np.eye(2), "k": np.eye(2)},
        ["--causal"],
        "above the diagonal",
    ),
    "not square": (
        np.ones((1, 2)),
        {"q": np.eye(1), "k": np.ones((2, 1))},
        ["--causal"],
        "a causal one is square",
    ),
    "not finite": (
        np.eye(2),
        {"q": np.eye(2) * np.nan, "k": np.eye(2)},
        [],
        "every element must be finite",
    ),
    "no witness": (np.eye(2), {"z": np.eye(2)}, [], "holds no witness"),
    "eps1 too large": (
        np.eye(2),
        {"q": np.eye(2), "k": np.eye(2)},
        ["--eps1", 1],
        "eps1 is 1; it must be",
    ),
    "eps2 zero": (
        np.eye(2),
        {"q": np.eye(2), "k": np.eye(2)},
        ["--eps2", 0],
        "eps2 is 0; it must be",
    ),
    "weak with eps1": (
        np.eye(2),
        {"q": np.eye(2), "k": np.eye(2)},
        ["--weak", "--eps1", 0.5],
        "--weak looks at neither",
    ),
    "empty row": (np.zeros((2, 2)), {"q": np.eye(2), "k": np.eye(2)}, [], "has no nonzero"),
}


@pytest.mark.parametrize("name", BAD)
def test_bad_input_is_one_sentence(tmp_path, name):
    a, tensors, options, part = BAD[name]
    pattern = save_pattern(tmp_path / "a.npy", a)
    save_file(tensors, tmp_path / "w", EPS)
    assert part in sentence_of(tamis("verify", pattern, tmp_path / "w", *options, status=2))
