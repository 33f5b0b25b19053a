"""An independent check of refutations and weak witnesses in NumPy.

It follows docs/refutation.md and docs/order-proofs.md."""

from fractions import Fraction
from itertools import combinations
from math import comb, sqrt

import numpy as np

ONES = -1


def exact(tensor):
    return np.vectorize(Fraction, otypes=[object])(tensor.astype(np.float64))


def weakly_produces(pattern, logits):
    """Whether in every row all nonzeros of the pattern are strictly above all its zeros."""
    ones = pattern != 0
    return all(
        line[one].min() > line[~one].max()
        for line, one in zip(logits, ones, strict=True)
        if one.any() and not one.all()
    )


def signs_of(pattern, rows, columns):
    """The pattern as +1 and -1, with row ONES the row of ones."""
    # The row of ones comes last, so that index -1 finds it.
    plus = np.vstack([pattern != 0, np.ones(pattern.shape[1], bool)])
    assert all(ONES <= i < len(pattern) for i in rows) and all(
        0 <= j < pattern.shape[1] for j in columns
    )
    return np.where(plus[np.ix_(rows, columns)], 1, -1)


def is_relation(pattern, relation):
    rows, columns = (relation["a"], relation["b"]), (relation["first"], relation["second"])
    found = signs_of(pattern, rows, columns)
    return (found == [[1, -1], [1, -1] if relation["same"] else [-1, 1]]).all()


def odd_circle(pattern, claim):
    relations = claim["relations"]
    closed = all(
        one["b"] == other["a"]
        for one, other in zip(relations, relations[1:] + relations[:1], strict=True)
    )
    odd = sum(not relation["same"] for relation in relations) % 2 == 1
    return claim["dim"] == 1 and closed and odd and all(is_relation(pattern, r) for r in relations)


def sign_conflict(pattern, claim):
    def says(part):
        """The sign that rows a, b and t give to column c."""
        a, b, t = part["apart"]["a"], part["apart"]["b"], part["t"]
        assert is_relation(pattern, part["apart"]) and not part["apart"]["same"]
        assert is_relation(pattern, part["turn"]) and (part["turn"]["a"], part["turn"]["b"]) == (
            t,
            a,
        )
        assert pattern[t, a] != 0 and pattern[t, b] == 0
        return 1 if part["turn"]["same"] else -1

    assert pattern.shape[0] == pattern.shape[1] and (claim["dim"], claim["hidden"]) == (1, 1)
    return says(claim["plus"]) == 1 and says(claim["minus"]) == -1


def full_set(pattern, claim):
    elements, cuts = claim["elements"], claim["cuts"]
    signs = (
        signs_of(pattern, cuts, elements)
        if claim["of_columns"]
        else signs_of(pattern, elements, cuts).T
    )
    split = (signs[:, 1:] != signs[:, :1]) @ (1 << np.arange(len(elements) - 1))
    every = len(cuts) == 2 ** (len(elements) - 1) and (split == np.arange(len(cuts))).all()
    return every and claim["dim"] <= len(elements) - 2


def spectral(pattern, claim):
    p, w = np.array(claim["row_weights"], float), np.array(claim["column_weights"], float)
    signs = signs_of(pattern, claim["rows"], claim["columns"])
    weighted = np.sqrt(p)[:, None] * signs * np.sqrt(w)
    # LAPACK's singular values are exact for a matrix that differs by a small multiple of 2^-53.
    norm = np.linalg.norm(weighted, 2) + signs.size * 2.0**-52 * np.linalg.norm(weighted)
    return (p > 0).all() and (w > 0).all() and sqrt(p.sum() * w.sum()) / norm > claim["dim"] + 1


def order_clauses(signs, rank):
    """The clauses that orientations of the columns of `signs` satisfy; its rows are the cuts."""
    count = signs.shape[1]

    def variable(places):
        return 1 + sum(comb(p, i + 1) for i, p in enumerate(sorted(places)))

    yield [1]
    for sigma in combinations(range(count), rank - 2):
        for a, b, c, e in combinations([i for i in range(count) if i not in sigma], 4):
            pairs = [((a, b), (c, e), 1), ((a, c), (b, e), -1), ((a, e), (b, c), 1)]
            for product in (1, -1):
                for first in range(8):
                    clause = []
                    for bit, (one, other, factor) in enumerate(pairs):
                        chi = 1 if first >> bit & 1 else -1
                        clause += [
                            -chi * variable(sigma + one),
                            -chi * factor * product * variable(sigma + other),
                        ]
                    yield clause
    for places in combinations(range(count), rank + 1):
        for cut in signs:
            for turn in (1, -1):
                yield [
                    -turn * int(cut[t]) * (-1) ** i * variable(places[:i] + places[i + 1 :])
                    for i, t in enumerate(places)
                ]


def follows(clauses, clause, variables):
    """Reverse unit propagation: denying the clause and setting what follows gives a contradiction.
    `clauses` is padded with 0, which is false."""
    # Indexed by literal, negative ones from the end; 1 is true and -1 false.
    value = np.zeros(2 * variables + 1, np.int8)

    def set_true(literals):
        value[literals], value[-np.asarray(literals, int)] = 1, -1

    value[0] = -1
    if clause:
        set_true([-literal for literal in clause])
    while True:
        state = value[clauses]
        open_ = (state == 0).sum(axis=1)
        undecided = ~(state == 1).any(axis=1)
        if (undecided & (open_ == 0)).any():
            return True
        units = clauses[undecided & (open_ == 1)]
        if not len(units):
            return False
        literals = np.unique(units[value[units] == 0])
        if np.isin(literals, -literals).any():
            return True
        set_true(literals)


def order_proof(pattern, claim):
    elements, cuts, rank = claim["elements"], claim["cuts"], claim["dim"] + 1
    assert elements == sorted(set(elements)) and cuts == sorted(set(cuts))
    signs = (
        signs_of(pattern, cuts, elements)
        if claim["of_columns"]
        else signs_of(pattern, elements, cuts).T
    )
    known = list(order_clauses(signs, rank))
    learnt = [[int(word) for word in line.split()] for line in claim["clauses"].splitlines()]
    assert all(line[-1] == 0 for line in learnt)
    variables = comb(len(elements), rank)
    width = max(map(len, known + learnt))
    table = np.array([clause + [0] * (width - len(clause)) for clause in known])
    for *clause, _ in learnt:
        if not clause or not follows(table, clause, variables):
            break
        table = np.vstack([table, clause + [0] * (width - len(clause))])
    return follows(table, [], variables)


GROUNDS = {
    "odd circle": odd_circle,
    "sign conflict": sign_conflict,
    "full set": full_set,
    "spectral": spectral,
    "order proof": order_proof,
}


def refutes(pattern, claim):
    return bool(GROUNDS[claim["grounds"]](pattern, claim))
