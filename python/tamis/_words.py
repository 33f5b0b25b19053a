"""Puts a refutation into words: which rows and columns forbid a dimension. They are the words of the
program, `evidence.lower.words` of `tamis decide --json`.
"""

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from ._tamis import printable

if TYPE_CHECKING:
    from .patterns import Pattern

ONES = -1
"""Stands for a row of ones, which may be added to every pattern."""
MOST = 16
"""The most rows or columns that a sentence names."""


class Names:
    """What rows and columns of a pattern are called: by their names, for qrels, else by number."""

    def __init__(self, pattern: "Pattern") -> None:
        self._rows, self._columns = pattern.row_names, pattern.column_names
        words = ("query", "queries", "document", "documents")
        self.word_row, self.word_rows, self.word_column, self.word_columns = (
            words if self._rows else ("row", "rows", "column", "columns")
        )

    def row(self, i: int) -> str:
        return "the row of ones" if i == ONES else f"{self.word_row} {self._bare_row(i)}"

    def column(self, j: int) -> str:
        return f"{self.word_column} {self._bare_column(j)}"

    def rows(self, places: Sequence[int]) -> str:
        return f"{self.word_rows} {_joined(places, self._bare_row)}"

    def columns(self, places: Sequence[int]) -> str:
        return f"{self.word_columns} {_joined(places, self._bare_column)}"

    def _bare_row(self, i: int) -> str:
        return "(ones)" if i == ONES else _name(self._rows, i)

    def _bare_column(self, j: int) -> str:
        return _name(self._columns, j)


NamesOf = Callable[[Sequence[int]], str]


def _name(names: list[str], i: int) -> str:
    return printable(names[i]) if i < len(names) else str(i)


def _joined(places: Sequence[int], name: Callable[[int], str]) -> str:
    shown = ", ".join(map(name, places[:MOST]))
    return f"{shown} and {len(places) - MOST} more" if len(places) > MOST else shown


def _relation(names: Names, relation: dict[str, Any]) -> str:
    a, b = relation["a"], relation["b"]
    first, second = names.column(relation["first"]), names.column(relation["second"])
    if a == b:
        return f"{names.row(a)} has {first} and not {second}"
    both = f"{names.row(a)} and {names.row(b)}"
    if relation["same"]:
        return f"{both} look the same way: both have {first}, neither has {second}"
    return f"{both} look opposite ways: one has only {first}, the other only {second}"


def _odd_circle(names: Names, claim: dict[str, Any]) -> str:
    relations = claim["relations"]
    if len(relations) == 2 and relations[0]["same"] != relations[1]["same"]:
        opposite, same = sorted(relations, key=lambda relation: relation["same"])
        return (
            f"{names.row(opposite['a'])} and {names.row(opposite['b'])} cross: both have "
            f"{names.column(same['first'])}, neither has {names.column(same['second'])}, one has "
            f"only {names.column(opposite['first'])}, the other only "
            f"{names.column(opposite['second'])}."
        )
    parts = "; ".join(_relation(names, relation) for relation in relations)
    return f"On a line {parts}. These cannot all be."


def _sign(names: Names, sign: dict[str, Any]) -> str:
    apart, t = sign["apart"], sign["t"]
    # A row trivially has the same direction as itself, so that relation is left out.
    turn = "" if t == apart["a"] else f"{_relation(names, sign['turn'])}; "
    return (
        f"{_relation(names, apart)}; {turn}{names.row(t)} has {names.column(apart['a'])} and not "
        f"{names.column(apart['b'])}"
    )


def _sign_conflict(names: Names, claim: dict[str, Any]) -> str:
    plus, minus = _sign(names, claim["plus"]), _sign(names, claim["minus"])
    return f"With L = c*x*x^T, c must be positive ({plus}) and negative ({minus})."


def _full_set(names: Names, claim: dict[str, Any]) -> str:
    elements, cuts = _sides(names, claim)
    return (
        f"Every way to divide {elements(claim['elements'])} in two is cut out by one of "
        f"{cuts(claim['cuts'])}; in fewer than {len(claim['elements']) - 1} dimensions one is not "
        "(Radon)."
    )


def _spectral(names: Names, claim: dict[str, Any]) -> str:
    return (
        f"The weighted signs of {len(claim['rows'])} {names.word_rows} and "
        f"{len(claim['columns'])} {names.word_columns} have too small a spectral norm (Forster)."
    )


def _order_proof(names: Names, claim: dict[str, Any]) -> str:
    elements, _ = _sides(names, claim)
    cuts = names.word_rows if claim["of_columns"] else names.word_columns
    clauses = claim["clauses"].count("\n")
    return (
        f"No order type of {elements(claim['elements'])} leaves {len(claim['cuts'])} {cuts} "
        f"possible: a proof of {clauses} clauses."
    )


def _solver(names: Names, claim: dict[str, Any]) -> str:
    runs = "; ".join(
        f"{printable(run['program'])}: {printable(run['answer'])} in {run['seconds']:.2f} s"
        for run in claim["runs"]
    )
    return f"The word of a solver, not a proof ({runs})."


def _sides(names: Names, claim: dict[str, Any]) -> tuple[NamesOf, NamesOf]:
    """What names the elements and the cuts of a claim."""
    return (names.columns, names.rows) if claim["of_columns"] else (names.rows, names.columns)


_GROUNDS = {
    "odd circle": _odd_circle,
    "sign conflict": _sign_conflict,
    "full set": _full_set,
    "spectral": _spectral,
    "order proof": _order_proof,
    "solver": _solver,
}


def refutation_words(pattern: "Pattern", claim: dict[str, Any]) -> str:
    """Returns the sentences for a refutation, which is given as the members of its file."""
    return _GROUNDS[claim["grounds"]](Names(pattern), claim)
