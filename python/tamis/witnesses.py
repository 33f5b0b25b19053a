"""Witnesses: queries and keys that claim to produce a pattern, and their verification."""

import os
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from . import _html, _tamis
from ._arguments import path_of
from ._calls import Path, Progress, threads_of
from ._tensors import Array, numpy_of, parts_of
from .error import Error
from .patterns import Pattern, pattern_of
from .refutations import Refutation, RefutationCheck, load_refutation, looks_like_refutation

ARITHMETICS = ("f32", "f64", "exact")
FORMS = (("q", "k"), ("x", "w_q", "w_k"), ("q", "k", "x", "w_q", "w_k"))
"""The tensors that make a witness complete."""


@dataclass(frozen=True, slots=True)
class Conditions:
    """What logits L must satisfy to produce a pattern A (docs/witness.md): in every row

    (23)  L_ij − L_il < log ε₁                   where A_ij = 0, A_il ≠ 0
    (24)  |L_ij − L_il − log(A_ij/A_il)| < ε₂    where both are nonzero

    or, if weak, only L_ij < L_il where A_ij = 0 and A_il ≠ 0; eps1 and eps2 are then None.
    """

    eps1: float | None = 0.1
    eps2: float | None = 1.0
    causal: bool = False
    """Row i sees columns 0 … i only."""
    weak: bool = False

    def _tuple(self) -> tuple[float, float, bool, bool]:
        eps1 = 0.1 if self.eps1 is None else float(self.eps1)
        eps2 = 1.0 if self.eps2 is None else float(self.eps2)
        return eps1, eps2, bool(self.causal), bool(self.weak)

    @classmethod
    def _of(cls, given: tuple[float, float, bool, bool]) -> "Conditions":
        eps1, eps2, causal, weak = given
        return cls(None, None, causal, True) if weak else cls(eps1, eps2, causal)

    def __str__(self) -> str:
        which = "weak" if self.weak else f"eps1 {self.eps1:g}, eps2 {self.eps2:g}"
        return which + (", causal" if self.causal else "")


def conditions_of(
    eps1: float | None, eps2: float | None, causal: bool, weak: bool, otherwise: Conditions
) -> Conditions:
    """Returns the conditions that a call asks for; what it leaves open comes from `otherwise`."""
    if weak and (eps1 is not None or eps2 is not None):
        raise Error(
            "weak conditions look at neither eps1 nor eps2; leave out weak, or eps1 and eps2"
        )
    causal = causal or otherwise.causal
    if weak or (otherwise.weak and eps1 is None and eps2 is None):
        return Conditions(None, None, causal, True)
    first, second, _, _ = otherwise._tuple()
    return Conditions(
        first if eps1 is None else eps1, second if eps2 is None else eps2, causal, False
    )


class Witness:
    """Queries q [rows, m] and keys k [columns, m] with logits L = q·kᵀ; or x [n, d_hid], w_q and w_k
    [d_hid, d] with L = x·w_q·w_kᵀ·xᵀ; or both forms. Arrays are f32 or f64, and count as the exact
    numbers that they are. A witness claims nothing until `verify` has checked it.
    """

    def __init__(
        self,
        q: Any = None,
        k: Any = None,
        *,
        x: Any = None,
        w_q: Any = None,
        w_k: Any = None,
        made_for: Conditions | None = None,
        made_by: Mapping[str, str] | None = None,
    ) -> None:
        given = {"q": q, "k": k, "x": x, "w_q": w_q, "w_k": w_k}
        parts = {
            name: parts_of(name, array, ("f32", "f64"))
            for name, array in given.items()
            if array is not None
        }
        for name, (_, shape, _) in parts.items():
            if len(shape) != 2:
                raise Error(f"{name} has {len(shape)} axes; it must be a matrix, which has 2")
        if tuple(parts) not in FORMS:
            raise Error(
                f"the witness has {', '.join(parts) or 'nothing'}; give q and k, or x, w_q and "
                "w_k, or all five"
            )
        self._take(
            _tamis.make_witness(parts, (made_for or Conditions())._tuple(), {**(made_by or {})})
        )

    @classmethod
    def _from(cls, handle: _tamis.Witness) -> "Witness":
        witness = cls.__new__(cls)
        witness._take(handle)
        return witness

    def _take(self, handle: _tamis.Witness) -> None:
        self._handle = handle
        tensors = {name: numpy_of(tensor) for name, tensor in handle.tensors.items()}
        for array in tensors.values():
            array.flags.writeable = False
        self._tensors = tensors
        self.q: Array | None = tensors.get("q")
        self.k: Array | None = tensors.get("k")
        self.x: Array | None = tensors.get("x")
        self.w_q: Array | None = tensors.get("w_q")
        self.w_k: Array | None = tensors.get("w_k")

    @property
    def dim(self) -> int:
        """The number of columns of q and k, else of w_q and w_k."""
        return int(self._queries.shape[1])

    @property
    def dtype(self) -> str:
        """The type of q, else of w_q: "f32" or "f64"."""
        return f"f{8 * self._queries.itemsize}"

    @property
    def _queries(self) -> Array:
        return self._tensors["q" if "q" in self._tensors else "w_q"]

    @property
    def made_for(self) -> Conditions:
        """The conditions that the witness claims to meet. `verify` does not take them from here."""
        return Conditions._of(self._handle.made_for)

    @property
    def made_by(self) -> dict[str, str]:
        """Method, seed and other notes of the program that made it."""
        return self._handle.made_by

    def logits(self) -> Array:
        """Returns L in f64, [rows, columns]: q·kᵀ, or x·w_q·w_kᵀ·xᵀ where there are no q and k."""
        f64 = {name: array.astype(np.float64) for name, array in self._tensors.items()}
        if "q" in f64:
            return f64["q"] @ f64["k"].T
        return (f64["x"] @ f64["w_q"]) @ (f64["x"] @ f64["w_k"]).T

    def save(self, path: Path) -> None:
        """Writes the format of docs/witness.md."""
        _tamis.write_witness(path_of(path), self._handle)

    def __repr__(self) -> str:
        forms = ["q, k"] * (self.q is not None) + ["x, w_q, w_k"] * (self.x is not None)
        return f"Witness({' and '.join(forms)}: {self.dim} columns, {self.dtype})"

    def _repr_html_(self) -> str:
        shapes = ((name, getattr(self, name)) for name in ("q", "k", "x", "w_q", "w_k"))
        return _html.facts(
            "Witness",
            [(n, f"{a.shape[0]} × {a.shape[1]} {a.dtype}") for n, a in shapes if a is not None]
            + [("made for", self.made_for), *self.made_by.items()],
        )


def load_witness(path: Path) -> Witness:
    """Reads a witness (docs/witness.md)."""
    return Witness._from(_tamis.read_witness(path_of(path)))


@dataclass(frozen=True, slots=True)
class Checked:
    """The verdict in one arithmetic."""

    holds: bool
    margin: float
    """The smallest slack of a condition: positive if and only if all hold, infinite if there are
    none."""
    worst_row: int | None
    """The row of the smallest margin, or None if no row has a condition."""
    failing_rows: int


@dataclass(frozen=True, slots=True)
class Verification:
    """Whether a witness produces a pattern. It is true, as `bool`, if every condition of every row
    holds in exact arithmetic.
    """

    by: dict[str, Checked]
    """The verdict with logits in "f32", in "f64" and "exact" ones; `in` of the program's JSON."""
    norm_product: float
    """max‖q_i‖ · max‖k_j‖."""
    max_logit: float
    dim: int
    conditions: Conditions
    """Those that were checked."""
    claimed: Conditions
    """Those that the witness says it was made for."""

    @property
    def holds(self) -> bool:
        """The verdict in exact arithmetic, in which the claim of a witness is meant."""
        return self.by["exact"].holds

    @property
    def arithmetic(self) -> list[str]:
        """The arithmetics in which the conditions hold."""
        return [name for name, checked in self.by.items() if checked.holds]

    @property
    def margin(self) -> float:
        """The exact margin."""
        return self.by["exact"].margin

    @property
    def worst_row(self) -> int | None:
        """The row of the exact margin."""
        return self.by["exact"].worst_row

    @property
    def failing_rows(self) -> int:
        """How many rows fail in exact arithmetic."""
        return self.by["exact"].failing_rows

    def __bool__(self) -> bool:
        return self.holds

    def _repr_html_(self) -> str:
        verdict = (
            "every condition holds, exactly" if self.holds else f"no: {self.failing_rows} rows fail"
        )
        caption = (
            f"{verdict} ({self.conditions}); {self.dim} columns, norm product "
            f"{self.norm_product:.6g}, max |L| {self.max_logit:.6g}"
        )
        rows = (
            (
                name,
                "yes" if checked.holds else "no",
                checked.failing_rows,
                "–" if checked.worst_row is None else checked.worst_row,
                f"{checked.margin:.6g}",
            )
            for name, checked in self.by.items()
        )
        heading = ("arithmetic", "holds", "failing rows", "worst row", "margin")
        return _html.table(heading, rows, caption, words=(0, 1))


def verification_of(
    made: dict[str, Any], witness: Witness | None, conditions: Conditions
) -> Verification | None:
    """Makes a verification of what the module returned, or None if there is no witness."""
    return None if witness is None else _verification(made, witness, conditions)


def _verification(made: dict[str, Any], witness: Witness, conditions: Conditions) -> Verification:
    return Verification(
        {name: Checked(**made[name]) for name in ARITHMETICS},
        made["norm_product"],
        made["max_logit"],
        witness.dim,
        conditions,
        witness.made_for,
    )


def verify(
    pattern: Pattern | Path | Any,
    witness: Any,
    *,
    eps1: float | None = None,
    eps2: float | None = None,
    causal: bool = False,
    weak: bool = False,
    as_claimed: bool = False,
    threads: int = 0,
    progress: Progress | None = None,
) -> Verification | RefutationCheck:
    """Checks a witness, or a refutation, against a pattern.

    `witness` is a `Witness`, a pair (q, k) of arrays, a `Refutation`, a path of either, or a result
    that has a `witness`, as `realise` and `decide` return. Conditions are those given here, by
    default ε₁ = 0.1 and ε₂ = 1 over all columns; what a witness says it was made for is looked at
    only `as_claimed`. Refutations are of weak conditions and take none of these.

    >>> bool(verify("data/pattern-32.mtx", "data/witness-32.safetensors"))
    True
    """
    target = pattern_of(pattern)
    if isinstance(witness, str | os.PathLike):
        reads_refutation = looks_like_refutation(witness)
        witness = load_refutation(witness) if reads_refutation else load_witness(witness)
    if isinstance(witness, Refutation):
        if eps1 is not None or eps2 is not None or causal or as_claimed:
            raise Error(
                "eps1, eps2, causal and as_claimed are for witnesses; a refutation is of weak "
                "conditions"
            )
        return witness.check(target)
    if isinstance(witness, tuple) and len(witness) == 2:
        witness = Witness(*witness)
    if not isinstance(witness, Witness):
        witness = getattr(witness, "witness", witness)
        if not isinstance(witness, Witness):
            raise Error(
                f"the witness is of type {type(witness).__name__}; give a Witness, (q, k), a "
                "Refutation, a path, or a result that has a witness"
            )
    conditions = conditions_of(
        eps1, eps2, causal, weak, witness.made_for if as_claimed else Conditions()
    )
    made = _tamis.verify(
        target._handle, witness._handle, conditions._tuple(), threads_of(threads), progress
    )
    return _verification(made, witness, conditions)
