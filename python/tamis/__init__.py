"""Sparse self-attention with a proof for each query: a KV cache, profiles, witnesses."""

from ._tamis import __version__
from .attention import Attention
from .budget import parse_budget
from .cache import Cache, Heads, Options
from .error import Error
from .info import info
from .one_off import attend

__all__ = [
    "Attention",
    "Cache",
    "Error",
    "Heads",
    "Options",
    "__version__",
    "attend",
    "info",
    "parse_budget",
]
