"""tamis profile: its measurements, checked with NumPy, its files and its errors."""

import json
import re

import numpy as np
import pytest
from conftest import (
    DATA,
    digest,
    exact_attention,
    make_tensors,
    save_trace,
    sentence_of,
    tamis,
)
from safetensors import safe_open
from safetensors.numpy import load_file

EPS = (0.01, 0.05)


def profile_json(*args):
    return json.loads(tamis("profile", *args, "--json").stdout)


def numpy_figures(tensors, layer, causal, scale, sinks=1, windows=(64, 256, 1024)):
    """Figures of every row in f64, with k_eps for eps slightly larger and smaller as bounds."""
    _, _, weights = exact_attention(tensors, layer, causal, scale)
    heads, queries, tokens = weights.shape
    seen = tensors["positions"] + 1 if causal else np.full(queries, tokens)
    figures = {
        name: np.zeros((heads, queries))
        for name in ("top1", "entropy", "sink", "effective_support")
    }
    figures["window"] = np.zeros((heads, queries, len(windows)))
    bounds = np.zeros((heads, queries, len(EPS), 2), np.int64)
    places = np.zeros((heads, queries, len(EPS), 2), np.int64)
    for h in range(heads):
        for i in range(queries):
            p = weights[h, i, : seen[i]]
            figures["top1"][h, i] = p.max()
            positive = p[p > 0]
            figures["entropy"][h, i] = -(positive * np.log(positive)).sum()
            figures["sink"][h, i] = p[:sinks].sum()
            figures["window"][h, i] = [p[-w:].sum() for w in windows]
            dropped = np.cumsum(np.sort(p))  # mass of the j + 1 lightest keys
            middle = np.cumsum(p[sinks:])
            for e, eps in enumerate(EPS):
                for side, sign in enumerate((1, -1)):
                    allowed = eps * (1 + sign * 1e-4)
                    bounds[h, i, e, side] = max(
                        1, seen[i] - np.searchsorted(dropped, allowed, side="right")
                    )
                    places[h, i, e, side] = (
                        seen[i]
                        - min(sinks, seen[i])
                        - np.searchsorted(middle, allowed, side="right")
                    )
    figures["effective_support"] = np.exp(figures["entropy"])
    return figures, bounds, places, seen


CASES = [
    dict(dtype="f16"),
    dict(dtype="bf16", causal=False),
    dict(dtype="f32", kv_heads=1, group=1, queries=1, tokens=1),
    dict(dtype="f32", kv_heads=1, group=5, dim=24, value_dim=8, tokens=700, queries=33),
    dict(dtype="f16", kv_heads=3, group=1, dim=7, value_dim=5, tokens=129, queries=3),
]


@pytest.mark.parametrize(
    "case", CASES, ids=lambda case: "-".join(f"{k}={v}" for k, v in case.items())
)
def test_rows_are_those_of_f64_attention(tmp_path, case):
    case = dict(case)
    causal = case.pop("causal", True)
    tensors = make_tensors([0, 11], **case)
    path = save_trace(tmp_path / "trace.safetensors", tensors, causal)
    before = digest(path)
    tamis("profile", path, "--rows", tmp_path / "rows.safetensors")
    assert digest(path) == before
    written = load_file(tmp_path / "rows.safetensors")
    for layer in (0, 11):
        rows = {name: written.pop(f"layers.{layer}.{name}") for name in ROW_FIELDS}
        figures, bounds, places, seen = numpy_figures(tensors, layer, causal, 0.25)
        assert np.array_equal(rows["n"], np.broadcast_to(seen, rows["n"].shape))
        assert np.all((bounds[..., 0] <= rows["k_eps"]) & (rows["k_eps"] <= bounds[..., 1]))
        assert np.all((places[..., 0] <= rows["w_eps"]) & (rows["w_eps"] <= places[..., 1]))
        for name, exact in figures.items():
            assert np.allclose(rows[name], exact, rtol=1e-4, atol=1e-5), name
        check_logits(rows, tensors, layer, seen)
        check_curve(rows, tensors, layer, causal)
    assert written == {}


ROW_FIELDS = ["n", "k_eps", "w_eps", "curve", "grid", "window", "mean", "sigma"]
ROW_FIELDS += ["null", "top1", "entropy", "effective_support", "sink"]


def check_logits(rows, tensors, layer, seen):
    q, k = (tensors[f"layers.{layer}.{name}"].astype(np.float64) for name in "qk")
    k = np.repeat(k, q.shape[0] // k.shape[0], axis=0)
    logits = 0.25 * np.einsum("hqd,htd->hqt", q, k)
    for h in range(q.shape[0]):
        for i in range(q.shape[1]):
            s = logits[h, i, : seen[i]]
            assert np.isclose(rows["mean"][h, i], s.mean(), rtol=1e-4, atol=1e-4)
            assert np.isclose(rows["sigma"][h, i], s.std(), rtol=1e-4, atol=1e-4)


def check_curve(rows, tensors, layer, causal):
    _, _, weights = exact_attention(tensors, layer, causal, 0.25)
    heaviest = np.cumsum(-np.sort(-weights, axis=-1), axis=-1)
    grid = rows["grid"]
    assert grid[0] == 1 and np.all(np.diff(grid) > 0) and grid[-1] <= rows["n"].max()
    assert np.allclose(rows["curve"], heaviest[..., grid - 1], rtol=1e-4, atol=1e-5)


def test_heads_are_quantiles_of_their_rows(tmp_path):
    report = profile_json(
        DATA, "--out", tmp_path / "p.json", "--rows", tmp_path / "rows.safetensors"
    )
    rows = load_file(tmp_path / "rows.safetensors")
    assert [(head["layer"], head["head"]) for head in report["heads"]] == [
        (layer, head) for layer in (3, 12, 21) for head in range(3)
    ]
    for head in report["heads"]:
        of = {name: rows[f"layers.{head['layer']}.{name}"] for name in ROW_FIELDS if name != "grid"}
        own = {name: values[head["head"]] for name, values in of.items()}
        assert head["rows"] == own["n"].size
        for e, support in enumerate([head, *head["other_eps"]]):
            assert support["eps"] == EPS[e]
            check_quantiles(support["k_eps"], own["k_eps"][:, e])
            check_quantiles(support["share"], own["k_eps"][:, e] / own["n"])
            check_quantiles(support["null"], own["null"][:, e])
            assert np.all((own["null"][:, e] >= 1) & (own["null"][:, e] <= own["n"]))
            # Least squares of log k on log n, whatever the law is.
            slope = np.polyfit(np.log(own["n"]), np.log(own["k_eps"][:, e]), 1)[0]
            assert np.isclose(support["C"], slope, rtol=1e-9, atol=1e-9)
            assert support["C_low"] < support["C"] < support["C_high"]
            assert support["law"] in ("constant", "log", "power", "linear", "gaussian", "none")
        for name in ("top1", "entropy", "effective_support", "sink", "mean", "sigma", "n"):
            check_quantiles(head[name], own[name])
        for w in range(3):
            check_quantiles(head["window"][w], own["window"][:, w])


def check_quantiles(found, values):
    expected = np.quantile(values, [0.1, 0.5, 0.9], method="inverted_cdf")
    assert np.allclose([found["p10"], found["median"], found["p90"]], expected, rtol=1e-12)


def test_rules_keep_their_promise_on_held_out_rows(tmp_path):
    """Recomputes from the rows what the rule reads and whether that was enough, over all heads."""
    report = profile_json(DATA, "--rows", tmp_path / "rows.safetensors")
    rows = load_file(tmp_path / "rows.safetensors")
    total = covered = 0
    for head in report["heads"]:
        n = rows[f"layers.{head['layer']}.n"][head["head"]]
        k = rows[f"layers.{head['layer']}.k_eps"][head["head"], :, 0]
        rule = head["rules"]["power"]
        assert 0 <= rule["C"] <= 1 and rule["rank"] == np.ceil(0.9 * (rule["rows"] + 1) - 1e-9)
        assert head["budget"] == f"power:{rule['alpha']},{rule['C']}"
        enough = np.minimum(n, np.ceil(rule["alpha"] * n ** rule["C"])) >= k
        # Held-out rows are among all rows, so their failures cannot exceed those of all rows.
        held = rule["held_out"]
        assert held["rows"] - held["covered"] <= np.count_nonzero(~enough)
        assert held["low"] <= held["rate"] <= held["high"]
        total += held["rows"]
        covered += held["covered"]
        bins = head["rules"]["bins"]
        assert sum(b["rows"] for b in bins) == held["rows"]
        assert sum(b["power"]["held_out"]["covered"] for b in bins) == held["covered"]
    assert covered / total > 0.85  # 1 - delta is 0.9; the rows come from one text


def test_a_profile_is_a_budget_for_attend(tmp_path):
    tamis("profile", DATA, "--layer", "3", "--out", tmp_path / "p.json")
    budget = f"profile:{tmp_path / 'p.json'}"
    done = tamis("attend", DATA, "--layer", "3", "--budget", budget, "--json")
    assert json.loads(done.stdout)["budget"] == budget


def test_the_file_is_what_json_prints_and_does_not_depend_on_threads(tmp_path):
    one = profile_json(DATA, "--threads", "1", "--out", tmp_path / "one.json")
    two = profile_json(DATA, "--threads", "2", "--out", tmp_path / "two.json")
    assert digest(tmp_path / "one.json") == digest(tmp_path / "two.json")
    file = json.loads((tmp_path / "one.json").read_text())
    assert {key: one[key] for key in file} == file
    assert set(one) - set(file) == {"target", "backend", "threads", "seconds"}
    assert (one["threads"], file["format"], file["version"]) == (1, "tamis-profile", 1)
    assert two["heads"] == one["heads"]


def test_vega_holds_its_data(tmp_path):
    report = profile_json(DATA, "--vega", tmp_path / "v.json")
    spec = json.loads((tmp_path / "v.json").read_text())
    assert spec["$schema"].endswith("vega-lite/v5.json") and len(spec["vconcat"]) == 3
    data = spec["datasets"]
    names = {chart["data"]["name"] for chart in spec["vconcat"]}
    assert names == {"growth", "laws", "collapse"} == set(data)
    assert len(data["laws"]) == 2 * len(report["heads"])
    first = [
        row for row in data["growth"] if (row["layer"], row["head"], row["eps"]) == (12, 1, 0.01)
    ]
    head = next(h for h in report["heads"] if (h["layer"], h["head"]) == (12, 1))
    assert [row["k"] for row in first] == [b["k_eps"]["median"] for b in head["growth"]]
    assert {row["figure"] for row in data["collapse"]} == {
        "top-1 mass",
        "effective support",
        "sink mass",
    }


def test_vega_shows_heads_in_their_order(tmp_path):
    convert = pytest.importorskip("vl_convert")
    report = profile_json(DATA, "--vega", tmp_path / "v.json")
    svg = convert.vegalite_to_svg(json.loads((tmp_path / "v.json").read_text()))
    shown = re.findall(r">(layer \d+ head \d+)<", svg)
    assert shown == [f"layer {head['layer']} head {head['head']}" for head in report["heads"]]


def test_the_table_names_every_head_and_the_comparison_of_rules():
    text = tamis("profile", DATA, "--eps", "0.02").stdout
    for part in (
        "layer 3\n",
        "layer 12\n",
        "layer 21\n",
        "k 2%",
        "alpha*n^C",
        "window",
        "Collapse",
    ):
        assert part in text
    assert "first-token mass" in text
    assert "mass of the first 4" in tamis("profile", DATA, "--eps", "0.02", "--sinks", "4").stdout
    report = profile_json(DATA, "--eps", "0.02")
    for head in report["heads"]:
        line = next(
            line
            for line in text.split(f"layer {head['layer']}\n")[1].splitlines()
            if line.split()[0] == str(head["head"])
        )
        assert head["law"] in line.split()


def test_against_itself_nothing_differs(tmp_path):
    tamis("profile", DATA, "--out", tmp_path / "p.json")
    text = tamis("profile", DATA, "--against", tmp_path / "p.json").stdout
    assert (
        "9 heads: 0 of another law, 0 whose intervals for C do not meet, median ratio of k 1."
        in text
    )
    report = profile_json(DATA, "--against", tmp_path / "p.json")
    heads = report["against"]["heads"]
    assert len(heads) == 9 and all(h["k_ratio"] == 1 and not h["law_differs"] for h in heads)
    part = profile_json(DATA, "--layer", "12", "--against", tmp_path / "p.json")
    assert [h["layer"] for h in part["against"]["heads"]] == [12] * 3


@pytest.mark.parametrize("queries", [1, 2, 5, 12])
def test_too_few_rows_are_said_and_reported(tmp_path, queries):
    path = save_trace(tmp_path / "t.safetensors", make_tensors([0], queries=queries))
    text = tamis("profile", path, "--out", tmp_path / "p.json").stdout
    assert "too few rows to calibrate" in text and "no law in" in text
    report = json.loads((tmp_path / "p.json").read_text())
    for head in report["heads"]:
        assert head["law"] == "none" and head["reason"] and head["k_eps"]["median"] >= 1
        assert head["budget"] == "mass:0.01" and head["rules"]["power"]["alpha"] is None
    tamis("attend", path, "--budget", f"profile:{tmp_path / 'p.json'}")


def test_weights_and_bound_give_r(tmp_path):
    tensors = make_tensors([4], queries=40)
    random = np.random.default_rng(3)
    tensors["layers.4.w_q"] = random.standard_normal((6, 32, 16)).astype(np.float32)
    tensors["layers.4.w_k"] = random.standard_normal((2, 32, 16)).astype(np.float32)
    tensors["layers.4.input_bound"] = np.array([0.5], np.float32)
    path = save_trace(tmp_path / "t.safetensors", tensors)
    report = profile_json(path)
    text = tamis("profile", path).stdout
    assert "k predicted" in text
    first = report["heads"][0]
    assert f"{first['R']:.3g}…{first['R']:.3g}" in text  # no rotary embedding, one offset
    for head in report["heads"]:
        w_q = tensors["layers.4.w_q"][head["head"]].astype(np.float64)
        w_k = tensors["layers.4.w_k"][head["head"] // 3].astype(np.float64)
        norm = 0.25 * np.linalg.norm(w_q @ w_k.T)
        assert np.isclose(head["norm"]["norm"], norm) and np.isclose(head["R"], 0.25 * norm)
        assert head["norm"]["low"] == head["norm"]["high"] == head["norm"]["norm"]
        assert head["predicted"]["k_eps"] >= 1
    assert profile_json(DATA, "--layer", "3")["heads"][0]["R"] is None


USAGE = {
    "no trace": ([], "TRACE is required"),
    "eps of 0": ([DATA, "--eps", "0"], "eps is 0; it must lie between 0 and 1"),
    "eps of 1": ([DATA, "--eps", "0.1,1"], "eps is 1"),
    "eps in words": ([DATA, "--eps", "small"], "--eps"),
    "no eps": ([DATA, "--eps", ""], "--eps"),
    "eps twice": ([DATA, "--eps", "0.1,0.1"], "eps 0.1 was given twice"),
    "eps beyond a double": ([DATA, "--eps", "1e999"], "--eps: '1e999' is out of range"),
    "window beyond 64 bits": (
        [DATA, "--windows", "99999999999999999999"],
        "--windows: '99999999999999999999' is out of range",
    ),
    "eps not a number": ([DATA, "--eps", "nan"], "eps is nan"),
    "delta of 1": ([DATA, "--delta", "1"], "delta is 1"),
    "negative sinks": ([DATA, "--sinks", "-1"], "sinks is -1"),
    "empty window": ([DATA, "--windows", "64,0"], "a window has 0 tokens"),
    "layer not in trace": ([DATA, "--layer", "4"], "it has 3, 12, 21"),
    "out is the trace": ([DATA, "--out", DATA], "is the file that TRACE reads"),
    "out is a directory": ([DATA, "--out", "docs"], "--out: docs: is a directory"),
    "two outputs in one file": (
        [DATA, "--out", "x.json", "--vega", "./x.json"],
        "name the same file",
    ),
    "no such profile": ([DATA, "--against", "nowhere.json"], "nowhere.json"),
    "not a profile": ([DATA, "--against", "README.md"], "README.md: is not JSON"),
    "trace that is not there": (["nowhere.safetensors"], "nowhere.safetensors"),
}


@pytest.mark.parametrize("name", USAGE)
def test_bad_usage_is_one_sentence(name):
    args, part = USAGE[name]
    done = tamis("profile", *args, status=2)
    assert part in sentence_of(done)


def test_a_place_that_cannot_be_written_is_found_before_the_work(tmp_path):
    for option in ("--out", "--rows", "--vega"):
        done = tamis("profile", DATA, option, tmp_path / "no" / "file", status=3)
        assert f"{option}: {tmp_path / 'no' / 'file'}: there is no folder" in sentence_of(done)


def test_profiles_that_do_not_match_are_refused(tmp_path):
    tamis("profile", DATA, "--layer", "12", "--out", tmp_path / "p.json")
    out = tmp_path / "out.json"
    done = tamis("profile", DATA, "--against", tmp_path / "p.json", "--out", out, status=2)
    sentence = sentence_of(done)
    assert (
        f"--against {tmp_path / 'p.json'}: " in sentence and "has no head 0 of layer 3" in sentence
    )
    assert not out.exists()
    done = tamis(
        "profile", DATA, "--layer", "12", "--eps", "0.2", "--against", tmp_path / "p.json", status=2
    )
    assert "first eps, 0.2 and 0.01" in sentence_of(done)
    profile = json.loads((tmp_path / "p.json").read_text())
    profile["model"] = "another"
    (tmp_path / "p.json").write_text(json.dumps(profile))
    done = tamis("profile", DATA, "--layer", "12", "--against", tmp_path / "p.json", status=2)
    assert "are of two models" in sentence_of(done)


def test_profiles_that_do_not_match_are_refused_before_the_work(tmp_path):
    """The work would fail on a logit that is not finite, but the mismatch is found first."""
    tensors = make_tensors([2], dtype="f32")
    path = save_trace(tmp_path / "t.safetensors", tensors)
    tamis("profile", path, "--out", tmp_path / "p.json")
    tensors["layers.2.k"][1, 100, 3] = 3e38
    path = save_trace(tmp_path / "t.safetensors", tensors)
    done = tamis("profile", path, "--eps", "0.3", "--against", tmp_path / "p.json", status=2)
    assert "first eps, 0.3 and 0.01" in sentence_of(done)


def test_a_number_too_large_for_a_double_is_named(tmp_path):
    tamis("profile", DATA, "--layer", "12", "--out", tmp_path / "p.json")
    text = (tmp_path / "p.json").read_text()
    (tmp_path / "p.json").write_text(text.replace('"delta": 0.1', '"delta": 1e999'))
    done = tamis("profile", DATA, "--layer", "12", "--against", tmp_path / "p.json", status=2)
    assert "p.json: the number '1e999' is too large" in sentence_of(done)


def test_names_that_lead_nowhere_are_refused_in_words(tmp_path):
    loop = tmp_path / "loop"
    loop.symlink_to(loop)
    for place in (loop / "x.json", tmp_path / ("n" * 300)):
        done = tamis(
            "profile",
            DATA,
            "--out",
            place,
            "--vega",
            tmp_path / "v.json",
            "--rows",
            place,
            status=3,
        )
        assert f"--out: {place}" in sentence_of(done)


def test_ranges_of_length_are_those_of_all_heads(tmp_path):
    report = profile_json(DATA)
    ranges = [
        [(b["n_low"], b["n_high"]) for b in head["rules"]["bins"]] for head in report["heads"]
    ]
    assert ranges == [ranges[0]] * len(ranges)
    flat = [end for part in ranges[0] for end in part]
    assert flat == sorted(flat)
    text = tamis("profile", DATA).stdout
    for low, high in ranges[0]:
        assert f"{low:.0f}…{high:.0f}" in text


def test_every_head_without_a_law_says_why(tmp_path):
    text = tamis("profile", DATA).stdout
    report = profile_json(DATA)
    heads = [head for head in report["heads"] if head["law"] == "none"]
    assert heads  # otherwise the test shows nothing
    for head in heads:
        assert f"{head['layer']}:{head['head']}" in text and head["reason"] in text


def test_numbers_that_are_not_finite_are_refused(tmp_path):
    tensors = make_tensors([2], dtype="f32")
    tensors["layers.2.k"][1, 100, 3] = 3e38
    path = save_trace(tmp_path / "t.safetensors", tensors)
    sentence = sentence_of(tamis("profile", path, "--out", tmp_path / "p.json", status=2))
    assert "layer 2: query" in sentence and "not finite" in sentence
    assert sorted(p.name for p in tmp_path.iterdir()) == ["t.safetensors"]


def test_metadata_of_the_rows_say_where_they_come_from(trace, tmp_path):
    tamis(
        "profile",
        trace,
        "--rows",
        tmp_path / "rows.safetensors",
        "--windows",
        "3,9",
        "--sinks",
        "2",
    )
    with safe_open(tmp_path / "rows.safetensors", framework="np") as file:
        metadata = file.metadata()
        assert file.get_tensor("layers.3.window").shape[-1] == 2
    info = json.loads(tamis("info", "--json").stdout)
    assert metadata == {
        "format": "tamis-rows",
        "trace": "small.safetensors",
        "eps": "0.01,0.05",
        "sinks": "2",
        "windows": "3,9",
        "target": info["target"],
        "tamis": info["version"],
    }
