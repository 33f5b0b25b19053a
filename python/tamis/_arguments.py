"""Plain arguments of callers, checked where the library's types would cut them off."""

import operator
import os
from collections.abc import Iterable, Sequence
from typing import Any

from ._arrays import one_of
from .error import Error

_LARGEST = 2**63 - 1


def integer(value: Any, name: str, least: int = 0, most: int = _LARGEST) -> int:
    """Returns `value` as an int. It must be a whole number within these limits."""
    try:
        found = operator.index(value)
    except TypeError:
        raise Error(f"{name} is {value!r}; it must be a whole number") from None
    if isinstance(value, bool) or not least <= found <= most:
        limit = f"at least {least}" if most == _LARGEST else f"{least} to {most}"
        raise Error(f"{name} is {value!r}; it must be a whole number, {limit}")
    return found


def integers(values: Iterable[Any], name: str, least: int = 0, most: int = _LARGEST) -> list[int]:
    """Returns whole numbers within these limits as a list."""
    try:
        found = list(values)
    except TypeError:
        raise Error(f"{name} is {values!r}; it must be a list of whole numbers") from None
    return [integer(value, f"{name}[{i}]", least, most) for i, value in enumerate(found)]


def number(value: Any, name: str) -> float:
    """Returns `value` as a float. It must be a number."""
    if isinstance(value, (bool, str)):
        raise Error(f"{name} is {value!r}; it must be a number")
    try:
        return float(value)
    except (TypeError, ValueError):
        raise Error(f"{name} is {value!r}; it must be a number") from None


def word(value: Any, name: str, words: Sequence[str]) -> str:
    """Returns `value`, which must be one of these words."""
    if value not in words:
        raise Error(f"{name} is {value!r}; it must be {one_of(map(repr, words))}")
    return str(value)


def path_of(value: Any) -> bytes:
    """Returns a path as the system takes it."""
    try:
        return os.fsencode(value)
    except TypeError:
        raise Error(f"path is {value!r}; it must be the name of a file") from None
