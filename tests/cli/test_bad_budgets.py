"""Invalid budgets and profiles: the error is one sentence that says what would be right."""

import json

import pytest
from conftest import DATA, sentence_of, tamis

# For each budget, what the error must say.
BUDGETS = {
    "": "mass:EPS, bytes:SHARE, topk:K, power:ALPHA,C, window:W,SINKS",
    "mass": "mass:EPS",
    "mass:": "EPS",
    "mass:0": "EPS",
    "mass:1": "EPS",
    "mass:-0.1": "EPS",
    "mass:nan": "EPS",
    "mass:0.05,2": "mass:EPS",
    "mass:five": "EPS",
    "Mass:0.05": "mass:EPS",
    "bytes:0": "SHARE",
    "bytes:1.5": "SHARE",
    "topk:0": "K",
    "topk:1.5": "K",
    "topk:-3": "K",
    "topk:99999999999999999999": "K",
    "power:2": "power:ALPHA,C",
    "power:0,0.5": "ALPHA",
    "power:inf,0.5": "ALPHA",
    "power:2,1.5": "C",
    "power:2,-0.1": "C",
    "window:0,4": "W",
    "window:256": "window:W,SINKS",
    "window:256,-1": "SINKS",
    "profile": "mass:EPS",
    "profile:": "the name of a file",
    "dense": "mass:EPS",
}


@pytest.mark.parametrize("budget", BUDGETS)
def test_a_bad_budget_is_one_sentence_that_says_what_is_right(budget):
    sentence = sentence_of(tamis("attend", DATA, "--budget", budget, status=2))
    assert sentence.startswith("--budget: ") and BUDGETS[budget] in sentence


def budget_of_each_head(layers=(3, 7), heads=6, budget="mass:0.05"):
    return [
        {"layer": layer, "head": head, "budget": budget}
        for layer in layers
        for head in range(heads)
    ]


PROFILES = {
    "no such file": (None, "there is no such file"),
    "empty": ("", ""),
    "not JSON": ("{heads", ""),
    "no heads": ('{"head": []}', "heads"),
    "heads not an array": ('{"heads": {}}', "heads"),
    "no budget": ([{"layer": 3, "head": 0}], "budget"),
    "a bad budget": ([{"layer": 3, "head": 0, "budget": "mass:2"}], "mass:2"),
    "a profile in a profile": ([{"layer": 3, "head": 0, "budget": "profile:x"}], "profile:x"),
    "a layer in words": ([{"layer": "3", "head": 0, "budget": "mass:0.05"}], "layer"),
    "a head twice": (budget_of_each_head() + budget_of_each_head(heads=1), "layer 3"),
    "no heads at all": ([], "has no budget for layer 3, head 0"),
    "a head missing": (budget_of_each_head()[:-1], "has no budget for layer 7, head 5"),
    "a layer missing": (budget_of_each_head([3]), "has no budget for layer 7, head 0"),
    "two kinds on one KV head": (
        [{"layer": 3, "head": 4, "budget": "topk:9"}] + [e for e in budget_of_each_head() if (e["layer"], e["head"]) != (3, 4)],
        "layer 3: heads 3 and 4 share a KV head, but one has mass:0.05 and the other topk:9",
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", PROFILES)
def test_a_bad_profile_is_one_sentence_that_names_it(name, trace, tmp_path):
    content, part = PROFILES[name]
    profile = tmp_path / "profile.json"
    if content is not None:
        profile.write_text(content if isinstance(content, str) else json.dumps({"heads": content}))
    out = tmp_path / "out.safetensors"
    done = tamis("attend", trace, "--budget", f"profile:{profile}", "--out", out, status=2)
    sentence = sentence_of(done)
    assert str(profile) in sentence and part in sentence
    assert not out.exists()
