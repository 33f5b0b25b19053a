"""Finding queries and keys that produce a pattern."""

import math
from dataclasses import dataclass
from typing import Any

from . import _html, _plots, _tamis
from ._arguments import integer, number
from ._calls import Path, Progress, integer_or_none, seed_of, threads_of
from .error import Error
from .patterns import Pattern, pattern_of
from .witnesses import Conditions, Verification, Witness, conditions_of, verification_of


@dataclass(frozen=True, slots=True)
class Attempt:
    """One attempt to make a witness, successful or not."""

    method: str
    dim: int
    verified: bool
    """The conditions hold exactly and the norm product is in its limit."""
    norm_product: float
    """max‖q‖·max‖k‖ of what was made, also if that is above the limit; infinite if nothing was."""
    max_logit: float
    seconds: float
    why: str
    """If not verified: what went wrong, a clause."""


@dataclass(frozen=True, slots=True)
class Theory:
    """What is known of every witness of a pattern (docs/realise.md)."""

    paper_norm: float | None
    """The norm product of the matrix of equation (9), which the paper projects; None if weak."""
    norm_lower_bound: float
    """No witness has a smaller norm product; 0 if no bound is known."""
    bound_6: int | None
    """Columns that the paper's bound (6) proves to be enough; None where it exceeds the rows."""
    bound_sharper: int | None
    """The same for the bound with k in place of k²."""


@dataclass(frozen=True, slots=True)
class Realisation:
    """What a search for a witness found. True, as `bool`, if there is a witness."""

    witness: Witness | None
    verification: Verification | None
    method: str | None
    dim: int | None
    redraws: int
    """The number of draws of method jl that were examined."""
    seconds: float
    attempts: list[Attempt]
    """Everything that was tried, in order."""
    conditions: Conditions
    theory: Theory
    pattern: Pattern

    @property
    def verified(self) -> bool:
        """Whether a witness was found; every witness is verified in exact arithmetic."""
        return self.witness is not None

    @property
    def q(self) -> Any:
        """The queries, [rows, dim]."""
        return self._found().q

    @property
    def k(self) -> Any:
        """The keys, [columns, dim]."""
        return self._found().k

    @property
    def norm_product(self) -> float | None:
        """max‖q_i‖·max‖k_j‖ of the witness."""
        return None if self.verification is None else self.verification.norm_product

    @property
    def max_logit(self) -> float | None:
        """max |L_ij| of the witness."""
        return None if self.verification is None else self.verification.max_logit

    @property
    def margin(self) -> float | None:
        """The least slack of a condition, in exact arithmetic."""
        return None if self.verification is None else self.verification.margin

    @property
    def arithmetic(self) -> list[str]:
        """The arithmetics in which the conditions hold."""
        return [] if self.verification is None else self.verification.arithmetic

    def save(self, path: Path) -> None:
        """Writes the witness (docs/witness.md)."""
        self._found().save(path)

    def plot(self) -> Any:
        """Returns an Altair chart of the pattern beside the attention that the witness gives."""
        return _plots.realisation(self.pattern, self._found(), self.conditions)

    def _found(self) -> Witness:
        if self.witness is None:
            raise Error("no witness was found; `attempts` says what was tried", "input")
        return self.witness

    def __bool__(self) -> bool:
        return self.verified

    def __repr__(self) -> str:
        if self.witness is None:
            return f"Realisation(no witness found, {len(self.attempts)} attempts)"
        return (
            f"Realisation({self.dim} columns by {self.method}, norm product "
            f"{self.norm_product:.6g}, margin {self.margin:.6g}, {self.witness.dtype})"
        )

    def _repr_html_(self) -> str:
        theory = self.theory
        if self.witness is not None:
            witness = (
                f"{self.dim} columns by {self.method}, {self.witness.dtype}, verified in "
                f"{', '.join(self.arithmetic)}"
            )
        else:
            witness = "none was found"
        facts = _html.facts(
            "Realisation",
            (
                ("conditions", self.conditions),
                ("witness", witness),
                ("norm product", _or_none(self.norm_product)),
                ("equation (9)", _or_none(theory.paper_norm)),
                ("no witness below", _or_none(theory.norm_lower_bound or None)),
                ("max |L|", _or_none(self.max_logit)),
                ("margin", _or_none(self.margin)),
                ("bound (6)", theory.bound_6),
                ("sharper bound", theory.bound_sharper),
                ("seconds", f"{self.seconds:.2f}"),
            ),
        )
        return facts + attempts_html(self.attempts)


def _or_none(value: float | None) -> str | None:
    return None if value is None else f"{value:.6g}"


def attempts_html(attempts: list[Attempt]) -> str:
    """Returns a table of attempts."""
    rows = (
        (
            attempt.method,
            attempt.dim,
            f"{attempt.norm_product:.4g}" if math.isfinite(attempt.norm_product) else "–",
            f"{attempt.seconds:.2f}",
            "verified" if attempt.verified else attempt.why,
        )
        for attempt in attempts
    )
    heading = ("tried", "columns", "norm product", "seconds", "outcome")
    return _html.table(heading, rows, words=(0, 4))


def theory_of(pattern: Pattern, conditions: Conditions) -> Theory:
    """Returns the bounds that are known for the pattern."""
    return Theory(**_tamis.theory(pattern._handle, conditions._tuple()))


def realise(
    pattern: Pattern | Path | Any,
    dim: int | None = None,
    *,
    eps1: float | None = None,
    eps2: float | None = None,
    causal: bool = False,
    weak: bool = False,
    method: str = "auto",
    max_norm: float | None = None,
    hidden: int | None = None,
    redraws: int = 0,
    steps: int = 0,
    seed: int = 0,
    threads: int = 0,
    progress: Progress | None = None,
) -> Realisation:
    """Looks for queries and keys that produce a pattern, in `dim` columns, with a norm product as
    small as is found; or, without `dim`, in as few columns as can be verified with a norm product
    of at most `max_norm` (by default that of the paper's equation (9)). docs/realise.md says what
    is promised.

    The pattern is a `Pattern`, a matrix or a path. Conditions are (23) and (24) with ε₁ = 0.1 and
    ε₂ = 1 unless given, or weak ones. `method` is "auto", "jl" (the paper's random projection, for
    which `hidden` adds x, w_q and w_k, and `redraws` limits the draws), "moment" or "descent" (of
    `steps` steps). 0 redraws, steps or threads mean the default. The same seed gives the same bits.
    """
    target = pattern_of(pattern)
    conditions = conditions_of(eps1, eps2, causal, weak, Conditions())
    made = _tamis.realise(
        target._handle,
        method,
        conditions._tuple(),
        integer_or_none(dim, "dim"),
        None if max_norm is None else number(max_norm, "max_norm"),
        integer_or_none(hidden, "hidden"),
        integer(redraws, "redraws"),
        integer(steps, "steps"),
        seed_of(seed),
        threads_of(threads),
        progress,
    )
    found = None if made["witness"] is None else Witness._from(made["witness"])
    return Realisation(
        witness=found,
        verification=verification_of(made["verification"], found, conditions),
        method=made["method"] if found else None,
        dim=made["dim"] if found else None,
        redraws=made["redraws"],
        seconds=made["seconds"],
        attempts=[Attempt(**attempt) for attempt in made["attempts"]],
        conditions=conditions,
        theory=theory_of(target, conditions),
        pattern=target,
    )
