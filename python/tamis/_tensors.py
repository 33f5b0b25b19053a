"""Arrays as the lab's files hold them: the name of an element type, a shape, and bytes."""

from typing import Any

import numpy as np
import numpy.typing as npt

from . import _arrays

_INTEGERS = {
    f"{kind}{bits}": f"{kind[0]}{bits}" for kind in ("int", "uint") for bits in (8, 16, 32, 64)
}
_INTEGERS["bool"] = "bool"
_FLOATS = {"f16": np.float16, "f32": np.float32, "f64": np.float64}

Array = npt.NDArray[Any]
Parts = tuple[str, tuple[int, ...], npt.NDArray[np.uint8]]


def dtype_named(name: str) -> np.dtype[Any]:
    """Returns the NumPy type of "f16", "bf16", "f32" or "f64". "bf16" needs the package ml_dtypes."""
    if name != "bf16":
        return np.dtype(_FLOATS[name])
    try:
        import ml_dtypes
    except ImportError as error:
        raise ImportError(
            "NumPy has no bfloat16; arrays of that type need: pip install ml_dtypes"
        ) from error
    found: np.dtype[Any] = np.dtype(ml_dtypes.bfloat16)
    return found


def numpy_of(tensor: tuple[npt.NDArray[np.uint8], str, tuple[int, ...]]) -> Array:
    """Returns what the module calls a tensor, (bytes, type, shape), as a NumPy array."""
    data, dtype, shape = tensor
    return data.view(dtype_named(dtype)).reshape(shape)


ANY = (*_FLOATS, "bf16", *_INTEGERS)
"""What files of arrays may hold."""


def parts_of(name: str, array: Any, dtypes: tuple[str, ...] = ANY) -> Parts:
    """Returns type, shape and bytes of an array of NumPy or torch, or of numbers in lists. Copies
    only what is not contiguous. `name` and `dtypes`, those that are right, are for messages.
    """
    if isinstance(array, list | tuple | int | float):
        array = np.asarray(array)
    found = _arrays.array_of(array, name, dtypes)
    data = np.ascontiguousarray(found.data).reshape(-1).view(np.uint8)
    return _INTEGERS.get(found.dtype, found.dtype), found.data.shape, data
