"""Refutations: evidence that no queries and keys of a number of columns weakly produce a pattern."""

import json
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from . import _html, _tamis
from ._arguments import path_of
from ._calls import Path
from ._words import refutation_words
from .patterns import Pattern, pattern_of


@dataclass(frozen=True, slots=True)
class RefutationCheck:
    """The outcome of checking a refutation. It is true, as `bool`, if the refutation holds."""

    holds: bool
    why: str
    """A clause that says what is wrong; empty if it holds."""
    dim: int
    hidden: int | None
    grounds: str

    def __bool__(self) -> bool:
        return self.holds

    def _repr_html_(self) -> str:
        return _html.facts(
            "Refutation " + ("holds" if self.holds else "does not hold"),
            (
                ("columns", self.dim),
                ("hidden", self.hidden),
                ("grounds", self.grounds),
                ("why", self.why or None),
            ),
        )


class Refutation:
    """A refutation (docs/refutation.md). It says that no queries and keys of `dim` columns, and so
    none of fewer, weakly produce a pattern.
    """

    def __init__(self, handle: _tamis.Refutation) -> None:
        self._handle = handle

    @property
    def dim(self) -> int:
        """The number of columns that is refuted."""
        return self._handle.dim

    @property
    def hidden(self) -> int | None:
        """If not None, the claim is only for a d_hid of at most this."""
        return self._handle.hidden

    @property
    def grounds(self) -> str:
        """What the claim rests on: "odd circle", "sign conflict", "full set", "spectral",
        "order proof" or "solver"."""
        return self._handle.grounds

    @property
    def proved(self) -> bool:
        """Whether the grounds can be checked. If not, they are a solver's word."""
        return self._handle.proved

    def to_json(self) -> str:
        """Returns the text that `save` writes."""
        return self._handle.text()

    @cached_property
    def data(self) -> dict[str, Any]:
        """The members of the file (docs/refutation.md)."""
        members: dict[str, Any] = json.loads(self.to_json())
        return members

    @property
    def problem(self) -> str | None:
        """The problem of a solver's word in SMT-LIB 2; None for a proof."""
        return self.data.get("problem")

    def words(self, pattern: Pattern | Path | Any) -> str:
        """Returns a sentence or two that say which rows and columns forbid the dimension."""
        return refutation_words(pattern_of(pattern), self.data)

    def check(self, pattern: Pattern | Path | Any) -> RefutationCheck:
        """Checks the refutation against the pattern, with code that shares nothing with what finds
        refutations.
        """
        holds, why = _tamis.check_refutation(pattern_of(pattern)._handle, self._handle)
        return RefutationCheck(holds, why, self.dim, self.hidden, self.grounds)

    def save(self, path: Path) -> None:
        """Writes the format of docs/refutation.md."""
        _tamis.write_refutation(path_of(path), self._handle)

    def __repr__(self) -> str:
        hidden = "" if self.hidden is None else f", hidden {self.hidden}"
        return f"Refutation(dim {self.dim}{hidden}, {self.grounds})"

    def _repr_html_(self) -> str:
        return _html.facts(
            "Refutation",
            (
                ("columns", self.dim),
                ("hidden", self.hidden),
                ("grounds", self.grounds),
                ("proved", "yes" if self.proved else "no: a solver's word"),
            ),
        )


def load_refutation(path: Path) -> Refutation:
    """Reads a refutation. The form is checked; `verify` or `Refutation.check` checks the claim."""
    return Refutation(_tamis.read_refutation(path_of(path)))


def looks_like_refutation(path: Path) -> bool:
    """Tells whether a file is JSON text, and so no witness: those begin with the length of their
    header, which has a zero byte.
    """
    try:
        with open(path, "rb") as file:
            front = file.read(8)
    except OSError:
        return False  # the reader of witnesses says what is wrong
    return front.lstrip(b" \t\r\n").startswith(b"{") and b"\0" not in front
