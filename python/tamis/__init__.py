"""Sparse self-attention with a proof for each query: a KV cache, profiles, witnesses."""

from ._tamis import info
from ._tamis import version as __version__
from .attention import Attention
from .budget import parse_budget
from .cache import Cache, Heads, Options
from .decisions import Decision, decide
from .error import Error
from .frontiers import Frontier, frontier
from .one_off import attend
from .patterns import (
    Pattern,
    banded_pattern,
    block_pattern,
    causal_pattern,
    load_pattern,
    pairs_pattern,
    permutations_pattern,
    top_keys_pattern,
)
from .profiles import Profile, load_profile, profile
from .realisations import Realisation, realise
from .refutations import Refutation, RefutationCheck, load_refutation
from .traces import Rotary, Trace, load_trace, save_trace
from .witnesses import Conditions, Verification, Witness, load_witness, verify

__all__ = [
    "Attention",
    "Cache",
    "Conditions",
    "Decision",
    "Error",
    "Frontier",
    "Heads",
    "Options",
    "Pattern",
    "Profile",
    "Realisation",
    "Refutation",
    "RefutationCheck",
    "Rotary",
    "Trace",
    "Verification",
    "Witness",
    "__version__",
    "attend",
    "banded_pattern",
    "block_pattern",
    "causal_pattern",
    "decide",
    "frontier",
    "info",
    "load_pattern",
    "load_profile",
    "load_refutation",
    "load_trace",
    "load_witness",
    "pairs_pattern",
    "parse_budget",
    "permutations_pattern",
    "profile",
    "realise",
    "save_trace",
    "top_keys_pattern",
    "verify",
]
