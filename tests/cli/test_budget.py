"""tamis attend --budget: its reads, certificates, output files and reports."""

import json
import os
import shutil
import subprocess

import numpy as np
import pytest
from conftest import (
    DATA,
    ROOT,
    digest,
    exact_attention,
    make_tensors,
    sanitized,
    save_trace,
    tamis,
)
from safetensors import safe_open
from safetensors.numpy import load_file

SHAPE = dict(tokens=2500, queries=6, kv_heads=2, group=3, dim=32, value_dim=24)
FIELDS = ("out", "lse", "tau", "error", "lse_error", "keys", "bytes", "grade", "dense", "reached")
BUDGETS = ["mass:0.05", "mass:0.01", "bytes:0.5", "topk:64", "power:4,0.5", "window:200,4"]


def rows_of(path, layer):
    written = load_file(path)
    return {field: written[f"layers.{layer}.{field}"] for field in FIELDS}


def attend(path, tmp_path, *args, status=0, **options):
    """Runs with --check and --out; returns the report and the path of the file."""
    out = tmp_path / "out.safetensors"
    done = tamis("attend", path, "--check", "--json", "--out", out, *args, status=status, **options)
    return json.loads(done.stdout), out


@pytest.fixture(scope="module")
def medium(tmp_path_factory):
    """Queries that see 1 to 2500 keys: some few enough to be computed densely, some not."""
    return save_trace(
        tmp_path_factory.mktemp("medium") / "medium.safetensors", make_tensors([2, 5], **SHAPE)
    )


@pytest.mark.parametrize("dtype", ["f16", "bf16", "f32"])
@pytest.mark.parametrize("bits", [8, 12, 16])
@pytest.mark.parametrize("budget", BUDGETS)
def test_results_are_within_their_certificates_of_f64_attention(tmp_path, budget, bits, dtype):
    tensors = make_tensors([0], dtype=dtype, **SHAPE)
    path = save_trace(tmp_path / "trace.safetensors", tensors)
    before = digest(path)
    report, out = attend(path, tmp_path, "--budget", budget, "--bits", bits)
    assert digest(path) == before
    assert sorted(p.name for p in tmp_path.iterdir()) == ["out.safetensors", "trace.safetensors"]
    assert report["violations"] == 0 and report["budget"] == budget and report["bits"] == bits

    rows = rows_of(out, 0)
    exact, exact_lse, _ = exact_attention(tensors, 0, True, 0.25)
    error = np.linalg.norm(rows["out"] - exact, axis=-1)
    assert rows["out"].shape == exact.shape and rows["out"].dtype == np.float32
    assert np.all(error <= rows["error"])
    assert np.all(np.abs(rows["lse"] - exact_lse) <= rows["lse_error"])
    assert np.all((rows["tau"] >= 0) & (rows["tau"] <= 1)) and np.all(rows["grade"] == 0)
    # --check must have measured the same as this test, except for the order of summation.
    assert report["error"]["true"]["max"] == pytest.approx(error.max(), rel=1e-6, abs=1e-12)
    relative = np.sort((error / np.linalg.norm(exact, axis=-1)).ravel())
    assert report["relative_error"]["max"] == pytest.approx(relative[-1], rel=1e-6, abs=1e-12)

    seen = tensors["positions"] + 1
    dense = rows["dense"] == 1
    assert np.all(rows["keys"] <= seen) and np.all(rows["keys"] >= 0)
    assert np.array_equal(rows["keys"][dense], np.broadcast_to(seen, dense.shape)[dense])
    short = seen < 1024  # kept raw as a whole
    element = tensors["layers.0.k"].dtype.itemsize
    assert np.all(dense[:, short])
    assert np.all(rows["bytes"][:, short] == seen[short] * (32 + 24) * element)
    met = rows["reached"] == 0
    if budget.startswith("mass"):
        eps = float(budget.split(":")[1])
        assert np.array_equal(met, rows["tau"] <= eps)
        assert np.all(rows["reached"][~met] == 1)
    if budget.startswith("bytes"):
        share = rows["bytes"] / (seen * (32 + 24) * 2)
        assert np.all(share[met & ~dense] <= 0.5) and np.all(np.isin(rows["reached"], (0, 2)))
    assert report["reached"]["met"] == met.sum()


def test_what_a_window_drops_is_at_most_its_certified_tau(tmp_path):
    """The only budget whose kept keys are known from outside: tau is the softmax of the others."""
    tensors = make_tensors([0], **SHAPE)
    path = save_trace(tmp_path / "trace.safetensors", tensors)
    _, out = attend(path, tmp_path, "--budget", "window:200,4")
    rows = rows_of(out, 0)
    _, _, weights = exact_attention(tensors, 0, True, 0.25)
    place = np.arange(SHAPE["tokens"])[None, :]
    seen = tensors["positions"][:, None] + 1
    dropped = np.where((place >= 4) & (place < seen - 200), weights, 0).sum(axis=-1)
    dropped[rows["dense"] == 1] = 0
    # Raw tokens are read too; they fill at most two blocks.
    kept = np.where((place >= 4) & (place < seen - 200) & (place < seen - 456), weights, 0).sum(
        axis=-1
    )
    kept[rows["dense"] == 1] = 0
    assert np.all(kept <= rows["tau"]) and dropped.max() > 0


@pytest.mark.parametrize("budget, bits", [("mass:0.02", 12), ("mass:0.019", 16), ("bytes:0.3", 12)])
def test_bits_are_chosen_by_the_budget_unless_they_are_given(medium, budget, bits):
    report = json.loads(tamis("attend", medium, "--budget", budget, "--layer", 2, "--json").stdout)
    assert report["bits"] == bits
    given = tamis("attend", medium, "--budget", budget, "--layer", 2, "--bits", 8, "--json").stdout
    assert json.loads(given)["bits"] == 8
    assert json.loads(given)["cache_share"] < report["cache_share"]


def test_a_budget_that_the_stored_bits_do_not_prove_is_told(medium, tmp_path):
    report, out = attend(medium, tmp_path, "--budget", "mass:0.01", "--bits", 8)
    missed = report["reached"]["stored_bits"]
    rows = [rows_of(out, layer) for layer in (2, 5)]
    assert missed == sum(int((r["tau"] > 0.01).sum()) for r in rows) > 0
    table = tamis("attend", medium, "--budget", "mass:0.01", "--bits", 8).stdout
    assert (
        f"{missed} of 72 queries: all stored bits were read, and prove no more; --bits 16" in table
    )
    better, _ = attend(medium, tmp_path, "--budget", "mass:0.01")
    assert better["bits"] == 16 and better["reached"]["stored_bits"] < missed


def test_a_budget_of_bytes_below_the_first_look_is_told(medium, tmp_path):
    report, _ = attend(medium, tmp_path, "--budget", "bytes:0.01", "--layer", 2)
    missed = report["reached"]["look_alone"]
    assert missed > 0
    table = tamis("attend", medium, "--budget", "bytes:0.01", "--layer", 2).stdout
    assert f"{missed} of 36 queries: " in table and "look" in table


def test_queries_below_dense_below_are_read_whole(medium, tmp_path):
    report, out = attend(
        medium, tmp_path, "--budget", "mass:0.05", "--dense-below", 2000, "--layer", 2
    )
    seen = np.linspace(0, 2499, 6).astype(np.int64) + 1
    assert np.array_equal(rows_of(out, 2)["dense"][0] == 1, seen < 2000)
    assert report["dense_fallbacks"] == 6 * (seen < 2000).sum()


def test_saving_time_keeps_the_certificates(medium, tmp_path):
    report, _ = attend(medium, tmp_path, "--budget", "mass:0.05", "--prefer", "time")
    assert report["violations"] == 0


@pytest.mark.parametrize("causal", [True, False])
def test_queries_that_see_few_keys_have_the_bits_of_dense_attention(tmp_path, causal):
    """With up to 8 rows per KV head, --dense runs the engine that also reads short sequences."""
    tensors = make_tensors([4], tokens=700, queries=2, kv_heads=2, group=4, dim=64, value_dim=64)
    path = save_trace(tmp_path / "trace.safetensors", tensors, causal)
    report, out = attend(path, tmp_path, "--budget", "mass:0.05")
    assert report["dense_fallbacks"] == report["queries"] == 16
    assert report["bytes"]["median"] == report["keys"]["max"] == 1
    assert report["ratios"] == {"error": None}
    sparse = rows_of(out, 4)
    tamis("attend", path, "--dense", "--out", tmp_path / "dense.safetensors")
    dense = load_file(tmp_path / "dense.safetensors")
    assert all(
        np.array_equal(sparse[field], dense[f"layers.4.{field}"])
        for field in ("out", "lse", "keys", "bytes", "dense")
    )


def test_heads_that_share_a_kv_head_share_what_is_read(medium, tmp_path):
    report, out = attend(medium, tmp_path, "--budget", "mass:0.05")
    seen = np.linspace(0, 2499, 6).astype(np.int64) + 1
    per_layer = []
    for layer in (2, 5):
        rows = rows_of(out, layer)
        for field in ("keys", "bytes"):
            grouped = rows[field].reshape(2, 3, 6)
            assert np.all(grouped == grouped[:, :1])
        per_layer.append((rows["bytes"][::3] / (seen * (32 + 24) * 2), rows["keys"][::3] / seen))
    shares = dict(
        zip(
            ("bytes", "keys"),
            (np.concatenate(c).ravel() for c in zip(*per_layer, strict=True)),
            strict=True,
        )
    )
    for field, values in shares.items():
        values = np.sort(values)
        assert report[field]["max"] == values[-1]
        assert report[field]["median"] == values[len(values) // 2 - 1]
        assert report[field]["p90"] == values[int(np.ceil(0.9 * len(values))) - 1]
        assert report[field]["mean"] == pytest.approx(values.mean())
    assert report["keys"]["dense"] == 2 * 2 * seen.sum()
    assert report["bytes"]["dense"] == report["keys"]["dense"] * (32 + 24) * 2


def test_json_has_the_documented_fields_and_adds_up(medium, tmp_path):
    report, out = attend(medium, tmp_path, "--budget", "mass:0.05")
    shared = {
        "violations", "dense_fallbacks", "tau", "error", "lse_error", "relative_error", "ratios", "bytes", "keys",
        "read", "reached", "cache_share", "cache_bytes", "append_seconds", "seconds", "queries",
    }  # fmt: skip
    assert set(report) == shared | {
        "trace", "budget", "bits", "checked", "layers", "target", "backend", "threads", "version",
    }  # fmt: skip
    for layer in report["layers"]:
        assert set(layer) == shared | {"layer", "query_heads", "kv_heads", "tokens", "dtype"}
    assert (
        report["queries"] == 2 * 6 * 6
        and report["checked"] is True
        and report["trace"] == str(medium)
    )
    both = [rows_of(out, layer) for layer in (2, 5)]
    assert report["dense_fallbacks"] == sum(int(rows["dense"].sum()) for rows in both)
    for field in ("tau", "error"):
        values = np.sort(np.concatenate([rows[field].ravel() for rows in both]))
        assert report[field]["max"] == values[-1]
        assert report[field]["median"] == values[len(values) // 2 - 1]
        assert report[field]["p90"] == values[int(np.ceil(0.9 * len(values))) - 1]
    assert "true" not in report["tau"] and set(report["error"]["true"]) == {"median", "p90", "max"}
    assert report["error"]["true"]["max"] <= report["error"]["max"]
    assert set(report["reached"]) == {"met", "stored_bits", "look_alone", "not_finite"}
    assert sum(report["reached"].values()) == report["queries"]
    read = report["read"]
    assert set(read) == {"raw", "centre", "4", "8", "12"}
    assert sum(part["keys"] for name, part in read.items() if name != "centre") == pytest.approx(1)
    assert sum(part["values"] for part in read.values()) == pytest.approx(1)
    assert report["keys"]["mean"] == pytest.approx(read["raw"]["keys"] + read["12"]["keys"])
    assert report["cache_share"] == pytest.approx(
        report["cache_bytes"] / (2 * 2 * 2500 * (32 + 24) * 2)
    )
    assert report["cache_bytes"] == sum(layer["cache_bytes"] for layer in report["layers"])
    assert report["seconds"] == pytest.approx(sum(layer["seconds"] for layer in report["layers"]))


@pytest.mark.parametrize("size", [1e-20, 1e8, 1e15])
@pytest.mark.parametrize("budget", ["mass:0.05", "topk:20"])
def test_numbers_of_any_size_are_measured(tmp_path, budget, size):
    tensors = make_tensors([0], tokens=1500, queries=6, dtype="f32")
    for name in "qkv":
        tensors[f"layers.0.{name}"] *= np.float32(size)
    report, _ = attend(
        save_trace(tmp_path / "trace.safetensors", tensors), tmp_path, "--budget", budget
    )
    assert report["violations"] == 0
    assert 0 <= report["tau"]["max"] <= 1
    assert 0 <= report["error"]["true"]["max"] <= report["error"]["max"]


def test_without_check_what_was_not_measured_is_null(medium):
    report = json.loads(tamis("attend", medium, "--budget", "mass:0.05", "--json").stdout)
    assert report["checked"] is False
    for part in (report, *report["layers"]):
        assert part["violations"] is part["relative_error"] is part["ratios"] is None
        assert (
            "true" not in part["tau"]
            and "true" not in part["error"]
            and "true" not in part["lse_error"]
        )


def test_metadata_of_the_result_say_where_it_comes_from(medium, tmp_path):
    _, out = attend(medium, tmp_path, "--budget", "mass:0.050", "--bits", 16, "--grade", "proved")
    with safe_open(out, framework="np") as file:
        metadata = file.metadata()
    info = json.loads(tamis("info", "--json").stdout)
    assert metadata == {
        "format": "tamis-attention",
        "trace": "medium.safetensors",
        "budget": "mass:0.05",
        "bits": "16",
        "grades": "0: proved",
        "target": info["target"],
        "backend": "cpu",
        "tamis": info["version"],
    }


@pytest.mark.parametrize("budget", ["mass:0.05", "bytes:0.3"])
@pytest.mark.parametrize("path", [DATA, None], ids=["shipped", "random"])
def test_the_number_of_threads_does_not_change_a_byte(path, budget, medium, tmp_path):
    layer = ["--layer", 12] if path else []
    for threads in (1, 2):
        out = tmp_path / f"{threads}.safetensors"
        tamis(
            "attend", path or medium, *layer, "--budget", budget, "--threads", threads, "--out", out
        )
    assert digest(tmp_path / "1.safetensors") == digest(tmp_path / "2.safetensors")


def test_a_profile_gives_each_head_its_own_budget(medium, tmp_path):
    profile = tmp_path / "profile.json"

    def written(budgets):
        heads = [
            {"layer": layer, "head": h, "budget": b}
            for layer in (2, 5, 9)
            for h, b in enumerate(budgets)
        ]
        profile.write_text(json.dumps({"heads": heads, "trace": "elsewhere"}))
        return attend(medium, tmp_path, "--budget", f"profile:{profile}")

    report, out = written(["topk:40"] * 6)
    assert report["budget"] == f"profile:{profile}" and report["violations"] == 0
    with safe_open(out, framework="np") as file:
        assert file.metadata()["budget"] == "profile:profile.json"
    alike = load_file(out)
    attend(medium, tmp_path, "--budget", "topk:40")
    same = load_file(out)
    assert all(np.array_equal(alike[name], same[name]) for name in alike)

    _, out = written(["mass:0.2"] * 3 + ["mass:0.01"] * 3)
    tau = rows_of(out, 2)["tau"]
    assert np.all(tau[:3] <= 0.2) and np.all(tau[3:] <= 0.01)


def test_the_table_has_a_line_per_layer_and_one_for_all(medium):
    lines = tamis("attend", medium, "--budget", "mass:0.05", "--check").stdout.splitlines()
    assert lines[0].split()[:3] == ["layer", "queries", "dense"]
    assert [line.split()[0] for line in lines[1:4]] == ["2", "5", "all"]
    assert [line.split()[-1] for line in lines[1:4]] == ["0", "0", "0"]
    assert len({len(line) for line in lines[:4]}) == 1
    assert "mass:0.05, 12 bits" in lines[-1] and lines[-1].endswith(
        "0 violations against the f64 reference."
    )
    unchecked = tamis("attend", medium, "--budget", "topk:9", "--bits", 16, "--layer", 5).stdout
    assert "topk:9, 16 bits" in unchecked and unchecked.endswith("certified, not checked.\n")


def test_a_query_whose_logits_are_not_finite_fails_itself_and_no_other(tmp_path):
    tensors = make_tensors([4], dtype="f32", **SHAPE)
    tensors["layers.4.q"][:, 2] = np.sign(tensors["layers.4.q"][:, 2]) * np.float32(3e38)
    path = save_trace(tmp_path / "huge.safetensors", tensors)
    report, out = attend(path, tmp_path, "--budget", "mass:0.05")
    rows = rows_of(out, 4)
    assert report["violations"] == 0 and report["reached"]["not_finite"] == 6
    assert np.all(rows["reached"][:, 2] == 3) and np.all(np.isnan(rows["out"][:, 2]))
    others = [0, 1, 3, 4, 5]
    assert np.all(rows["reached"][:, others] == 0) and np.all(np.isfinite(rows["out"][:, others]))
    assert report["tau"]["max"] is None or np.isfinite(report["tau"]["median"])


def test_positions_in_any_order_are_replayed_in_theirs(tmp_path):
    tensors = make_tensors([0], **SHAPE)
    mixed = [3, 0, 5, 1, 4, 2]
    shuffled = tensors | {
        "positions": tensors["positions"][mixed],
        "layers.0.q": np.ascontiguousarray(tensors["layers.0.q"][:, mixed]),
    }
    _, out = attend(save_trace(tmp_path / "trace", tensors), tmp_path, "--budget", "mass:0.05")
    straight = rows_of(out, 0)
    _, out = attend(save_trace(tmp_path / "mixed", shuffled), tmp_path, "--budget", "mass:0.05")
    for field, values in rows_of(out, 0).items():
        assert np.array_equal(values, straight[field][:, mixed]), field


LIAR = """
// Stands between the program and tamis::attend, and spoils one thing that it returns.
#include <dlfcn.h>
#include <tamis/attend.h>
#include <cstdlib>
#include <limits>
#include <string>
namespace tamis {
void attend(const Cache& cache, const Plan& plan, const QueryRows& queries, std::span<const Budget> budgets,
            const AttendOptions& options, Workspace& workspace, const Results& results) {
  Dl_info self;
  dladdr(reinterpret_cast<void*>(&attend), &self);
  static const auto honest = reinterpret_cast<decltype(&attend)>(dlsym(RTLD_NEXT, self.dli_sname));
  honest(cache, plan, queries, budgets, options, workspace, results);
  const std::string lie = std::getenv("LIE");
  constexpr float nan = std::numeric_limits<float>::quiet_NaN();
  for (Certificate& certificate : results.certificates) {
    if (lie == "error") certificate.error = 0;
    if (lie == "lse") certificate.lse_error = 0;
    if (lie == "tau is nan") certificate.tau = nan;
    if (lie == "error is nan") certificate.error = nan;
  }
  if (lie == "output") static_cast<float*>(results.out.data)[0] += 1e6f;
  if (lie == "output is nan") static_cast<float*>(results.out.data)[0] = nan;
}
}
"""


@pytest.fixture(scope="module")
def liar(tmp_path_factory):
    compiler = shutil.which("c++")
    if compiler is None or sanitized():
        pytest.skip("needs a compiler and a program without sanitizers: not run")
    source = tmp_path_factory.mktemp("liar") / "liar.cpp"
    source.write_text(LIAR)
    library = source.with_suffix(".so")
    subprocess.run(
        [
            compiler,
            "-std=c++20",
            "-shared",
            "-fPIC",
            f"-I{ROOT / 'include'}",
            source,
            "-o",
            library,
            "-ldl",
        ],
        check=True,
    )
    return library


@pytest.mark.parametrize(
    "lie", ["error", "lse", "tau is nan", "error is nan", "output", "output is nan"]
)  # fmt: skip
def test_a_lie_is_found_and_the_answer_is_no(liar, medium, tmp_path, lie):
    env = os.environ | {"LD_PRELOAD": str(liar), "LIE": lie}
    report, _ = attend(medium, tmp_path, "--budget", "mass:0.05", "--layer", 2, status=1, env=env)
    # At every step one of 6 heads is spoiled, or every head. At the first step there is one key,
    # so that lse and output of dense attention may be exact.
    one_head = lie.startswith("output")
    assert (4 if one_head else 24) <= report["violations"] <= (6 if one_head else 36)
    assert (
        f"{report['violations']} violations"
        in tamis(
            "attend", medium, "--budget", "mass:0.05", "--layer", 2, "--check", status=1, env=env
        ).stdout
    )


def test_the_shipped_trace_is_read_sparsely_and_holds_its_certificates(tmp_path):
    report, out = attend(DATA, tmp_path, "--budget", "mass:0.05", "--layer", 12)
    assert report["violations"] == 0 and report["queries"] == 3 * 256
    assert report["dense_fallbacks"] == 0 and report["bytes"]["median"] < 0.5
    assert 1 <= report["ratios"]["error"]["median"] <= report["ratios"]["error"]["p90"]
    assert report["cache_share"] < 0.85
    tensors = load_file(DATA)
    rows = rows_of(out, 12)
    exact, exact_lse, _ = exact_attention(tensors, 12, True, 0.125)
    assert np.all(np.linalg.norm(rows["out"] - exact, axis=-1) <= rows["error"])
    assert np.all(np.abs(rows["lse"] - exact_lse) <= rows["lse_error"])
    assert np.array_equal(rows["reached"] == 0, rows["tau"] <= 0.05)
    assert (rows["reached"] == 0).mean() > 0.9
