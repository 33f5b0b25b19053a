"""Seeds for the reader of refutations, for make_corpus.py.

There is one valid refutation for each kind of grounds, as fuzz/refutation.cpp checks them: of the
pattern of all pairs of six columns, except that the sign conflict is one of a square pattern. The
other refutations are broken.
"""

import json
from itertools import combinations

PAIRS = list(combinations(range(6), 2))  # the rows


def relation(a, b, same, first, second):
    return {"a": a, "b": b, "same": same, "first": first, "second": second}


def cuts_of(elements):
    """For every split of these columns into two sides, the row that makes it; -1: the row of ones."""

    def split(row):
        sides = [row == -1 or e in PAIRS[row] for e in elements]
        return sum(1 << i for i, side in enumerate(sides[1:]) if side != sides[0])

    made = {split(row): row for row in [*reversed(range(len(PAIRS))), -1]}
    return [made[s] for s in range(2 ** (len(elements) - 1))]


CIRCLE = {"dim": 1, "grounds": "odd circle",
          "relations": [relation(0, 1, True, 0, 3), relation(1, 0, False, 2, 1)]}  # fmt: skip
CONFLICT = {"dim": 1, "hidden": 1, "grounds": "sign conflict",
            "plus": {"t": 1, "apart": relation(1, 0, False, 1, 2), "turn": relation(1, 1, True, 1, 0)},
            "minus": {"t": 0, "apart": relation(2, 0, False, 1, 2), "turn": relation(0, 2, False, 2, 1)}}  # fmt: skip
SET = {"dim": 3, "grounds": "full set", "of_columns": True, "elements": [0, 1, 2, 3, 4],
       "cuts": cuts_of(range(5))}  # fmt: skip
SPECTRAL = {"dim": 1, "grounds": "spectral", "rows": [-1, *range(15)], "columns": [0, 1, 2, 3, 4, 5],
            "row_weights": [1] * 16, "column_weights": [1] * 6}  # fmt: skip
# If four columns are cut in every way, no signs are left for four triples.
ORDERS = {"dim": 2, "grounds": "order proof", "of_columns": True, "elements": [0, 1, 2, 3],
          "cuts": [-1, *range(15)], "clauses": "2 3 0\n2 -3 0\n2 0\n3 0\n0\n"}  # fmt: skip
SOLVER = {"dim": 2, "hidden": 3, "grounds": "solver", "problem": "(check-sat)\n",
          "runs": [{"program": "solver 1.0", "answer": "unsat", "seconds": 0.5},
                   {"program": "other", "answer": "timeout", "seconds": None}]}  # fmt: skip


def refutation(members, **changes):
    claim = {"format": "tamis-refutation", "version": 1, "tamis": "0.1.0", "hidden": None} | members
    return json.dumps(
        {name: value for name, value in (claim | changes).items() if value != "gone"}
    ).encode()


def refutation_seeds():
    yield "valid-circle", refutation(CIRCLE)
    yield "valid-conflict", refutation(CONFLICT)
    yield "valid-full-set", refutation(SET)
    yield "valid-full-set-of-rows", refutation(SET, of_columns=False)
    yield "valid-spectral", refutation(SPECTRAL)
    yield "valid-order-proof", refutation(ORDERS)
    yield "valid-solver", refutation(SOLVER)
    yield "valid-more-members", refutation(CIRCLE, mine={"deep": [[[1]]]})
    yield "valid-dim-0", refutation(CIRCLE, dim=0)
    yield "valid-dim-large", refutation(SPECTRAL, dim=2**63 - 1)
    yield "valid-none", refutation(SET, elements=[], cuts=[])
    yield "valid-one-element", refutation(SET, elements=[0], cuts=[-1])
    yield "valid-not-there", refutation(SET, elements=[0, 1, 2, 3, 2**63 - 1])
    yield "valid-below", refutation(SET, cuts=[-(2**63)] * 16)
    yield "valid-same-twice", refutation(SPECTRAL, rows=[0] * 60, row_weights=[2**24] * 60)
    yield "valid-weights", refutation(SPECTRAL, row_weights=[0] * 16)
    yield "valid-fewer-weights", refutation(SPECTRAL, row_weights=[1])
    yield "valid-large-weights", refutation(SPECTRAL, row_weights=[2**63 - 1] * 16)
    yield "valid-no-clauses", refutation(ORDERS, clauses="")
    yield "valid-only-empty", refutation(ORDERS, clauses="0\n")
    yield "valid-variable-beyond", refutation(ORDERS, clauses="2147483647 -2147483647 0\n0\n")
    yield "valid-descending", refutation(ORDERS, elements=[3, 2, 1, 0])
    yield "valid-rank-30", refutation(ORDERS, dim=29)
    yield "empty", b""
    yield "array", b"[]"
    yield "no-format", b"{}"
    yield "other-format", refutation(CIRCLE, format="tamis-profile")
    yield "other-version", refutation(CIRCLE, version=2)
    yield "no-grounds", refutation(CIRCLE, grounds="gone")
    yield "unknown-grounds", refutation(CIRCLE, grounds="because")
    yield "grounds-of-another", refutation(CIRCLE, grounds="full set")
    yield "dim-negative", refutation(CIRCLE, dim=-1)
    yield "hidden-text", refutation(CIRCLE, hidden="1")
    yield "row-negative", refutation(CIRCLE, relations=[relation(-1, 0, True, 0, 1)])
    yield "relation-number", refutation(CIRCLE, relations=[7])
    yield "same-number", refutation(CIRCLE, relations=[relation(0, 1, 1, 0, 3)])
    yield "cut-2-to-63", refutation(SET, cuts=[2**63] * 16)
    yield "clause-unended", refutation(ORDERS, clauses="1 2\n")
    yield "clause-goes-on", refutation(ORDERS, clauses="1 0 2\n")
    yield "literal-2-to-31", refutation(ORDERS, clauses="2147483648 0\n")
    yield "literal-word", refutation(ORDERS, clauses="x 0\n")
    yield "clauses-array", refutation(ORDERS, clauses=[[1]])
    yield "number-overflow", refutation(SOLVER).replace(b"0.5", b"1e999")
    yield "dim-twice", refutation(CIRCLE).replace(b'"dim"', b'"dim": 9, "dim"', 1)
    yield "same-twice", refutation(CIRCLE).replace(b'"same"', b'"same": false, "s\\u0061me"', 1)
    yield (
        "unknown-member-twice",
        refutation(CIRCLE, mine=[{"x": 1}]).replace(b'"x"', b'"x": 0, "x"'),
    )
    yield "truncated", refutation(SET)[:-9]
    yield "zero-byte", refutation(SET) + b"\0"
    yield "not-utf8", refutation(SOLVER).replace(b"solver 1", b"\xff")
    yield "deep", b'{"format":' + b"[" * 2000 + b"]" * 2000 + b"}"
