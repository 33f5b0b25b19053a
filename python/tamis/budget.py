"""Budgets: the rule for how much attention over a cache may read, as text."""

from collections.abc import Iterable
from typing import Any

from . import _tamis
from .error import Error


def parse_budget(text: str) -> str:
    """Returns a budget in its usual form, or raises an error that lists the forms.

    >>> import tamis
    >>> tamis.parse_budget("mass:5e-2")
    'mass:0.05'
    >>> tamis.parse_budget("some")
    Traceback (most recent call last):
    ...
    tamis.Error: ...
    """
    return _tamis.parse_budget(_text(text, "budget"))


def budgets_of(budget: str | Iterable[str]) -> list[str]:
    """Returns one budget for all heads, or one for each, as a list."""
    if isinstance(budget, str):
        return [budget]
    if not isinstance(budget, Iterable):
        raise Error(f"budget is {budget!r}; it must be text, such as 'mass:0.05', or a list of it")
    return [_text(each, "budget") for each in budget]


def _text(value: Any, name: str) -> str:
    if not isinstance(value, str):
        raise Error(f"{name} is {value!r}; it must be text, such as 'mass:0.05'")
    return value
