"""What attention returns: outputs, log-sum-exps and certificates."""

from collections.abc import Iterator
from typing import Any

import numpy as np
import numpy.typing as npt

from . import _tamis

_FIELDS, _SIZE = _tamis.certificate_layout()
#: The fields of a certificate of attention over a cache; `Attention` says what they mean.
CERTIFICATE = np.dtype(
    {
        "names": list(_FIELDS),
        "formats": [kind for kind, _ in _FIELDS.values()],
        "offsets": [offset for _, offset in _FIELDS.values()],
        "itemsize": _SIZE,
    }
)
#: The bounds on the rounding of dense attention.
ROUNDING = np.dtype([("tau", "f8"), ("error", "f8"), ("lse_error", "f8")])


class Attention:
    """The result of attention. It unpacks into `out, certificates`.

    `certificates` has one record for each query of each head, with these fields:

    - `tau`: the total-variation distance between the weights of exact attention and those used is
      at most this;
    - `error`: so is the Euclidean distance of the output from that of exact attention;
    - `lse_error`: so is the distance of `lse` from the exact one;
    - `reached`, `dense`: whether the budget was met, and whether and why everything was read;
      `reached_words` and `dense_words` have words for the numbers;
    - `grade`: 0, as every bound is proved;
    - `raw_keys`, `keys[4]`: keys read as they were appended, and coded keys by the deepest level
      that was read;
    - `raw_values`, `centre_values`, `values[4]`: the same for values, with those in whose place the
      mean of their block was used, or nothing;
    - `bytes`, `dense_bytes`: bytes read, and bytes of the keys and values seen at 16 bits a number.

    Heads that share a KV head share what is read, and each counts all of it. Dense attention over
    arrays has the first three fields alone.
    """

    __slots__ = ("certificates", "lse", "out")

    def __init__(self, out: Any, lse: Any, certificates: npt.NDArray[np.void] | None) -> None:
        self.out = out
        """The outputs, in the layout of the queries."""
        self.lse = lse
        """The logarithm of the sum of exp(logit) of every query; −inf where it sees no key."""
        self.certificates = certificates
        """One record for each number of `lse`, or None."""

    def __iter__(self) -> Iterator[Any]:
        return iter((self.out, self.certificates))

    @property
    def reached_words(self) -> npt.NDArray[np.str_]:
        """Whether each query met its budget, in words."""
        return self._words("reached", _tamis.reached_words())

    @property
    def dense_words(self) -> npt.NDArray[np.str_]:
        """Whether and why everything was read for each query, in words."""
        return self._words("dense", _tamis.dense_words())

    def _words(self, field: str, words: list[str]) -> npt.NDArray[np.str_]:
        found = self.certificates
        codes = None if found is None or field not in (found.dtype.names or ()) else found[field]
        if codes is None:
            raise AttributeError(f"these certificates have no field {field!r}")
        return np.take(np.array(words), codes)

    def summary(self) -> dict[str, tuple[float, float]]:
        """The median and the 90th percentile, over all queries, of tau, of error and, where a
        budget was given, of bytes as a share of what dense attention reads."""
        found = self.certificates
        if found is None or found.size == 0:
            return {}
        figures = {name: found[name] for name in ("tau", "error")}
        if "bytes" in (found.dtype.names or ()):
            figures["bytes"] = found["bytes"] / np.maximum(found["dense_bytes"], 1)
        return {
            name: (float(np.median(figure)), float(np.quantile(figure, 0.9)))
            for name, figure in figures.items()
        }

    def __repr__(self) -> str:
        figures = [f"median {name} {median:.2g}" for name, (median, _) in self.summary().items()]
        return f"<{', '.join([f'attention, out {list(self.out.shape)}', *figures])}>"

    def _repr_html_(self) -> str:
        rows = "".join(
            f"<tr><td>{name}</td><td>{median:.3g}</td><td>{p90:.3g}</td></tr>"
            for name, (median, p90) in self.summary().items()
        )
        head = "<tr><th></th><th>median</th><th>p90</th></tr>" if rows else ""
        shape = " × ".join(map(str, self.out.shape))
        return f"<table><caption>attention, out {shape}</caption>{head}{rows}</table>"
