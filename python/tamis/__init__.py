"""Sparse self-attention with a proof for each query: a KV cache, profiles, witnesses."""

from ._tamis import __version__
from .error import Error

__all__ = ["Error", "__version__"]
