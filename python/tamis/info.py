"""What this build is, and what it can use on this machine."""

from typing import Any

from . import _tamis


def info() -> dict[str, Any]:
    """Returns the version, the sets of kernels and whether each runs here, the one in use, the
    number of cores, the threads that calls use, and the libraries in this build.

    >>> import tamis
    >>> tamis.info()["targets"]["scalar"]
    True
    """
    return _tamis.info()
