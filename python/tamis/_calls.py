"""What many calls of the lab share: types, and arguments that all of them take."""

import os
from collections.abc import Callable
from typing import Any

from ._arguments import integer

Path = str | os.PathLike[str]

Progress = Callable[[float, float], bool | None]
"""Called now and then during a long call with the work done so far and the total. If it returns
False, the call is stopped."""


def integer_or_none(value: Any, name: str) -> int | None:
    """Returns an integer, or None for None."""
    return None if value is None else integer(value, name)


def seed_of(seed: Any) -> int:
    """Returns a seed of the library's random streams."""
    return integer(seed, "seed", most=2**64 - 1)


def threads_of(threads: Any) -> int:
    """Returns a number of threads; 0 means every core."""
    return integer(threads, "threads", most=2**31 - 1)
