"""Deciding in how few dimensions a pattern can be produced."""

import math
from dataclasses import dataclass
from typing import Any

from . import _html, _tamis
from ._arguments import number
from ._calls import Path, Progress, integer_or_none, seed_of, threads_of
from .error import Error
from .patterns import Pattern, pattern_of
from .refutations import Refutation
from .witnesses import Conditions, Verification, Witness, verification_of


@dataclass(frozen=True, slots=True)
class Trial:
    """One step of the search."""

    what: str
    times: int
    """Repetitions in a row with the same outcome; `seconds` is their total."""
    dim: int | None
    """The columns that the step was about, if it was a single number."""
    outcome: str
    seconds: float


@dataclass(frozen=True, slots=True)
class Decision:
    """Bounds on d_min, the least number of columns of queries and keys that weakly produce a
    pattern, and the verdict that follows, with its evidence.
    """

    verdict: str
    """The answer for the `dim` that was asked about: "yes", "no" or "open". Without one, "yes" if
    d_min is known (lower = upper), "no" if `hidden` leaves no dimension."""
    asked: int | None
    """The number of columns that was asked about."""
    hidden: int | None
    """d_hid, if it was given."""
    lower: int
    """No witness has fewer columns."""
    upper: int | None
    """The columns of the best witness found, if any."""
    witness: Witness | None
    """Verified under weak conditions in exact arithmetic. None if none was found or wanted."""
    refutation: Refutation | None
    """Shows that lower − 1 columns are too few; there if lower > 1."""
    verification: Verification | None
    """Of the witness."""
    evidence: dict[str, Any]
    """`evidence` of the program's JSON. "lower" has the members of the refutation but clauses and
    problem, whether it is `proved`, and its `words`; "upper" has method, columns, arithmetic and
    margin of the witness. Either is None if there is no such evidence."""
    trials: list[Trial]
    """What was tried, in order."""
    seconds: float
    interrupted: bool
    """Whether `progress` asked to stop."""
    pattern: Pattern

    @property
    def dim(self) -> int | None:
        """The number of columns that was asked about, else d_min if it is known."""
        if self.asked is None and self.verdict == "yes":
            return self.upper
        return self.asked

    @property
    def words(self) -> str:
        """The verdict in a sentence, with the bounds."""
        bounds = f"{self.lower} ≤ d_min ≤ {self.upper}"
        if self.upper is None:
            bounds = f"d_min ≥ {self.lower}, no witness was found"
        by_solver = self.refutation is not None and not self.refutation.proved
        solver = " (by a solver)" if by_solver else ""
        if self.verdict == "open":
            return f"open: {bounds}{' (interrupted)' if self.interrupted else ''}"
        if self.asked is None:
            if self.verdict == "no":
                return f"no: in no dimension up to the hidden size {self.hidden}{solver}"
            return f"d_min = {self.upper}{solver}"
        if self.verdict == "no":
            return f"no: not in {_columns(self.asked)}{solver}; {bounds}"
        if self.upper != self.asked:
            return f"yes: in {_columns(self.upper)}, so in {self.asked} as well"
        return f"yes: in {_columns(self.upper)}"

    def save_witness(self, path: Path) -> None:
        """Writes the witness of the upper bound (docs/witness.md)."""
        if self.witness is None:
            raise Error("this decision has no witness; `trials` says what was tried", "input")
        self.witness.save(path)

    def save_refutation(self, path: Path) -> None:
        """Writes the refutation behind the lower bound (docs/refutation.md)."""
        if self.refutation is None:
            raise Error(
                "this decision has no refutation, for its lower bound is 1, which needs none",
                "input",
            )
        self.refutation.save(path)

    def __repr__(self) -> str:
        return f"Decision({self.words})"

    def _repr_html_(self) -> str:
        lower, upper = self.evidence["lower"], self.evidence["upper"]
        facts = _html.facts(
            "Decision",
            (
                ("verdict", self.words),
                (
                    "lower bound",
                    lower
                    and f"{self.lower}, {'proved' if lower['proved'] else 'by a solver'}: "
                    f"{lower['words']}",
                ),
                (
                    "upper bound",
                    upper
                    and f"{self.upper}: witness by {upper['method']}, verified in "
                    f"{', '.join(upper['arithmetic'])}",
                ),
                ("seconds", f"{self.seconds:.2f}"),
            ),
        )
        rows = (
            (
                f"{trial.times} × {trial.what}" if trial.times > 1 else trial.what,
                "–" if trial.dim is None else trial.dim,
                f"{trial.seconds:.2f}",
                trial.outcome,
            )
            for trial in self.trials
        )
        return facts + _html.table(("tried", "columns", "seconds", "outcome"), rows, words=(0, 3))


def _columns(count: int | None) -> str:
    return f"{count} column{'' if count == 1 else 's'}"


def _evidence(
    made: dict[str, Any], pattern: Pattern, refutation: Refutation | None
) -> dict[str, Any]:
    lower = None
    if refutation is not None:
        left_out = ("format", "version", "tamis", "clauses", "problem")
        lower = {
            **{key: value for key, value in refutation.data.items() if key not in left_out},
            "proved": refutation.proved,
            "words": refutation.words(pattern),
        }
    upper = None
    if made["upper"] is not None:
        verification = made["verification"]
        margin = verification["exact"]["margin"]
        upper = {
            "method": made["method"],
            "columns": made["upper"],
            "arithmetic": [name for name in ("f32", "f64", "exact") if verification[name]["holds"]],
            "margin": margin if math.isfinite(margin) else None,
        }
    return {"lower": lower, "upper": upper}


def decide(
    pattern: Pattern | Path | Any,
    dim: int | None = None,
    *,
    hidden: int | None = None,
    time_limit: float = 60,
    solvers: bool = True,
    witness: bool = True,
    seed: int = 0,
    threads: int = 0,
    progress: Progress | None = None,
) -> Decision:
    """Decides whether attention can weakly approximate a pattern with queries and keys of `dim`
    columns: in every row the logits of the nonzeros above all others. Without `dim` it looks for
    d_min, the least number of columns; for a relevance file (qrels) that is the dimension which
    embeddings need. docs/decide.md has the steps.

    The pattern is a `Pattern`, a matrix or a path. `hidden` is d_hid, the columns of x in
    L = x·w_q·w_kᵀ·xᵀ, for square patterns. Dimension 1 is always decided; above, what can be tried
    is tried for `time_limit` seconds, with z3, cvc5 and cadical where they are installed, unless
    `solvers` is False. `witness=False` saves the work of making one. If `progress`, which is called
    with seconds, returns False, the bounds so far are returned; Ctrl-C raises KeyboardInterrupt.

    >>> decide([[1, 1, 0, 0], [0, 1, 1, 0], [0, 0, 1, 1], [1, 0, 0, 1]]).dim
    2
    """
    target = pattern_of(pattern)
    asked = integer_or_none(dim, "dim")
    made = _tamis.decide(
        target._handle,
        asked,
        integer_or_none(hidden, "hidden"),
        number(time_limit, "time_limit"),
        solvers,
        witness,
        seed_of(seed),
        threads_of(threads),
        progress,
    )
    found = None if made["witness"] is None else Witness._from(made["witness"])
    refutation = None if made["refutation"] is None else Refutation(made["refutation"])
    weak = Conditions(None, None, False, True)
    return Decision(
        verdict=made["verdict"],
        asked=asked,
        hidden=hidden,
        lower=made["lower"],
        upper=made["upper"],
        witness=found,
        refutation=refutation,
        verification=verification_of(made["verification"], found, weak),
        evidence=_evidence(made, target, refutation),
        trials=[Trial(**trial) for trial in made["trials"]],
        seconds=made["seconds"],
        interrupted=made["interrupted"],
        pattern=target,
    )
