"""Seeds for the two readers of profiles, for make_corpus.py.

One reader takes only the budgets, for attend; the other takes whole profiles.
"""

import json


def profile_seeds():
    def heads(*entries):
        return json.dumps({"model": {"heads": [1]}, "heads": entries}).encode()

    def head(**changes):
        entry = {
            "layer": 0,
            "head": 0,
            "budget": "topk:8",
            "k_eps": {"median": 3.5, "all": [[1], None]},
        }
        return {key: value for key, value in (entry | changes).items() if value is not None}

    budgets = (
        "mass:0.05",
        "bytes:1",
        "topk:9223372036854775807",
        "power:1e-300,0.5",
        "window:256,4",
    )
    yield "valid", heads(*(head(head=i, budget=budget) for i, budget in enumerate(budgets)))
    yield "valid-none", heads()
    yield "valid-byte-order-mark", b"\xef\xbb\xbf" + heads(head())
    yield "valid-deep", b'{"deep":' + b"[" * 2000 + b"]" * 2000 + b',"heads":[]}'
    yield "empty", b""
    yield "array", b"[]"
    yield "no-heads", b"{}"
    yield "heads-object", b'{"heads":{}}'
    yield "heads-twice", b'{"heads":[],"heads":[]}'
    yield "head-number", heads(7)
    yield "no-layer", heads(head(layer=None))
    yield "no-budget", heads(head(budget=None))
    yield "layer-negative", heads(head(layer=-1))
    yield "layer-fraction", heads(head(layer=1.5))
    yield "layer-2-to-63", heads(head(layer=2**63))
    yield "budget-number", heads(head(budget=8))
    yield "budget-unknown", heads(head(budget="top:8"))
    yield "budget-zero", heads(head(budget="topk:0"))
    yield "budget-nan", heads(head(budget="mass:nan"))
    yield "budget-three", heads(head(budget="power:1,2,3"))
    yield "repeated", heads(head(), head())
    yield "member-twice", b'{"heads":[{"layer":0,"layer":0}]}'
    yield "unknown-member-twice", b'{"deep":[{"n":1,"\\u006e":2}],"heads":[]}'
    yield "number-overflow", b'{"n":1e999,"heads":[]}'
    yield "zero-byte", heads(head()) + b"\0"
    yield "trailing", heads(head()) + b"x"
    yield "truncated", heads(head())[:-9]
    yield "not-utf8", b'{"\xff":1}'


def whole_profile(change=lambda profile: None):
    """A profile of two heads as tamis writes it, with changes."""
    spread = {"p10": 1.0, "median": 2.0, "p90": 3.0}
    rate = {"rows": 4, "covered": 3, "rate": 0.75, "low": 0.2, "high": 0.99}
    rule = {"alpha": None, "C": 0.5, "window": False, "sinks": 1, "rows": 4, "rank": 5,
            "mean_keys": 7.5, "held_out": rate}  # fmt: skip
    cost = {"mean_keys": 7.5, "held_out": rate}
    law = {"law": "power", "alpha": 2.0, "C": 0.5, "C_low": 0.4, "C_high": 0.6, "reason": "",
           "best_law": "power", "residual_sd": 0.7, "lack_of_fit": 0.1, "p_value": 0.3,
           "autocorrelation": 0.0, "effective_rows": 4.0, "block": 1, "law_rows": 4, "n_low": 1.0,
           "n_high": 9.0, "k_median": 2.0, "law_sigma": 1.5,
           "scores": [{"law": "power", "alpha": 2.0, "residual_sd": 0.7, "log_evidence": -3.5,
                       "probability": 1.0}]}  # fmt: skip
    bins = [{"n_low": 1.0, "n_high": 9.0, "rows": 4, "power": cost, "topk": cost, "window": cost}]
    growth = [
        {
            "n_low": 1.0,
            "n_high": 9.0,
            "rows": 4,
            "n": 5.0,
            "k_eps": spread,
            "law": 2.0,
            "null": None,
        }
    ]

    def support(eps):
        rules = {"power": rule, "topk": rule, "window": rule | {"window": True}, "bins": bins}
        of_eps = {"eps": eps, "k_eps": spread, "share": spread, "null": spread}
        predicted = {"R": 1.0, "k_eps": 3.0, "C": 0.9}
        return of_eps | law | {"rules": rules, "growth": growth, "predicted": predicted}

    def head(number):
        figures = {
            name: spread
            for name in ("n", "top1", "entropy", "effective_support", "sink", "mean", "sigma")
        }
        norm = {"norm": 1.0, "low": 0.5, "high": 1.5, "low_offset": 3, "high_offset": 0}
        entry = (
            {"layer": 0, "head": number, "rows": 4, "budget": "power:2,0.5"}
            | support(0.01)
            | figures
        )
        return entry | {"window": [spread], "norm": norm, "R": None, "other_eps": [support(0.05)]}

    collapse = {"n_low": 1.0, "n_high": 9.0, "rows": 8, "n": 5.0, "top1": spread,
                "effective_support": spread, "sink": spread}  # fmt: skip
    profile = {"format": "tamis-profile", "version": 1, "tamis": "0.1.0", "trace": "t.safetensors",
               "model": "", "tokens": 9, "queries": 4, "causal": True, "eps": [0.01, 0.05],
               "delta": 0.1, "sinks": 1, "windows": [64], "bins": 8, "confidence": 0.95,
               "significance": 0.01, "material": 0.1, "resamples": 999, "seed": 2**64 - 1,
               "layers": [{"layer": 0, "input_bound": None, "collapse": [collapse]}],
               "heads": [head(0), head(1)]}  # fmt: skip
    profile = json.loads(json.dumps(profile))  # no two members share an object
    change(profile)
    return json.dumps(profile).encode()


def profile_file_seeds():
    def change(*path, to):
        def apply(profile):
            for step in path[:-1]:
                profile = profile[step]
            profile[path[-1]] = to

        return whole_profile(apply)

    yield "valid", whole_profile()
    yield "valid-no-heads", change("heads", to=[])
    yield "valid-more-members", change("heads", 0, "mine", to={"deep": [[[1]]]})
    yield "empty", b""
    yield "array", b"[]"
    yield "no-format", b"{}"
    yield "other-version", change("version", to=2)
    yield "deep", b'{"format":' + b"[" * 2000 + b"]" * 2000 + b"}"
    yield "heads-object", change("heads", to={})
    yield "head-number", change("heads", 1, to=7)
    yield "heads-repeated", change("heads", 1, "head", to=0)
    yield "layer-2-to-63", change("heads", 1, "layer", to=2**63)
    yield "rows-negative", change("heads", 1, "rows", to=-1)
    yield "law-unknown", change("heads", 0, "law", to="cubic")
    yield "budget-zero", change("heads", 0, "budget", to="topk:0")
    yield "eps-other", change("heads", 0, "eps", to=0.5)
    yield "eps-fewer", change("heads", 0, "other_eps", to=[])
    yield "no-eps", change("eps", to=[])
    yield "spread-null", change("heads", 0, "k_eps", to=None)
    yield "number-text", change("heads", 0, "C", to="0.5")
    yield "number-overflow", whole_profile().replace(b"0.75", b"1e999")
    yield "delta-twice", whole_profile().replace(b'"delta"', b'"delta": 0.5, "delta"')
    yield "truncated", whole_profile()[:-9]
    yield "zero-byte", whole_profile() + b"\0"
    yield "not-utf8", whole_profile().replace(b"power:2", b"\xff")
