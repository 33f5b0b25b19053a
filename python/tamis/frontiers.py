"""The trade of dimension against norm for a pattern."""

import math
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from . import _html, _plots, _tamis
from ._arguments import integer, integers
from ._calls import Path, Progress, seed_of, threads_of
from .patterns import Pattern, pattern_of
from .realisations import Attempt, Theory, theory_of
from .witnesses import Conditions, conditions_of


@dataclass(frozen=True, slots=True)
class Frontier:
    """For each number of columns the smallest norm product of a witness that was found and verified
    in exact arithmetic: upper bounds on the true frontier, which nobody knows.
    """

    points: list[Attempt]
    conditions: Conditions
    theory: Theory
    pattern: Pattern

    def plot(self) -> Any:
        """Returns an Altair chart of norm product and max |L| against the number of columns."""
        return _plots.frontier(self)

    def __repr__(self) -> str:
        found = sum(point.verified for point in self.points)
        return f"Frontier({len(self.points)} dimensions, {found} with a witness)"

    def _repr_html_(self) -> str:
        rows = (
            (
                point.dim,
                f"{point.norm_product:.5g}" if point.verified else "–",
                f"{point.max_logit:.5g}" if point.verified else "–",
                point.method if point.verified else point.why,
                f"{point.seconds:.2f}",
            )
            for point in self.points
        )
        parts = [f"Frontier ({self.conditions})"]
        if self.theory.paper_norm is not None and math.isfinite(self.theory.paper_norm):
            parts.append(f"equation (9): {self.theory.paper_norm:.6g}")
        if self.theory.norm_lower_bound > 0:
            parts.append(f"no witness below {self.theory.norm_lower_bound:.6g}")
        heading = ("columns", "norm product", "max |L|", "method", "seconds")
        return _html.table(heading, rows, "; ".join(parts), words=(3,))


def frontier(
    pattern: Pattern | Path | Any,
    dims: Iterable[int] | None = None,
    *,
    eps1: float | None = None,
    eps2: float | None = None,
    causal: bool = False,
    weak: bool = False,
    steps: int = 0,
    seed: int = 0,
    threads: int = 0,
    progress: Progress | None = None,
) -> Frontier:
    """Looks for the smallest norm product in each of `dims` columns, ascending; by default those of
    2, 3, 4, 6, 8, 12, … 64 that are below the number of columns. Takes the time of one `realise`
    for each. Conditions, `steps` and `seed` are as for `realise`.
    """
    target = pattern_of(pattern)
    conditions = conditions_of(eps1, eps2, causal, weak, Conditions())
    points = _tamis.frontier(
        target._handle,
        conditions._tuple(),
        [] if dims is None else integers(dims, "dims"),
        integer(steps, "steps"),
        seed_of(seed),
        threads_of(threads),
        progress,
    )
    return Frontier(
        [Attempt(**point) for point in points], conditions, theory_of(target, conditions), target
    )
