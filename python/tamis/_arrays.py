"""Arrays of callers as NumPy arrays on the same memory, whichever package they come from."""

import sys
from collections.abc import Iterable
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from .error import Error

FLOATS = ("f32", "f16", "bf16")
_NAMES = {"float32": "f32", "float16": "f16", "bfloat16": "bf16", "float64": "f64"}
_NATIVE = {np.dtype(name): _NAMES[name] for name in ("float32", "float16")}  # found sooner
_CPU = 1  # kDLCPU of DLPack


class Array(NamedTuple):
    """A caller's array. NumPy lends no bfloat16 to other packages, so that an array of it is one of
    uint16 here, and its `dtype` says "bf16"."""

    data: npt.NDArray[Any]
    dtype: str

    @property
    def is_bf16(self) -> bool:
        return self.dtype == "bf16"


def is_torch(value: object) -> bool:
    """Whether `value` is a tensor of torch, which this package never imports by itself."""
    torch = sys.modules.get("torch")
    return torch is not None and isinstance(value, torch.Tensor)


def array_of(value: object, name: str, dtypes: tuple[str, ...] = FLOATS) -> Array:
    """Returns `value`, the argument `name`, on the memory that it has. Its numbers must be of one
    of these types. Only elements that are not aligned are copied."""
    found = _array_of(value, name, dtypes)
    return found if _is_aligned(found.data) else Array(found.data.copy(), found.dtype)


def writable_of(value: object, name: str) -> Array:
    """Returns `value`, the argument `name`, for writing into it."""
    found = _array_of(value, name, FLOATS)
    data = found.data
    repeats = any(
        size > 1 and step == 0 for size, step in zip(data.shape, data.strides, strict=True)
    )
    if not data.flags.writeable or repeats:
        raise Error(f"{name} cannot be written: it is read-only, or has elements that share memory")
    if not _is_aligned(data):
        raise Error(f"{name} is not aligned to its elements; it must be")
    return found


def like(caller: object, result: npt.NDArray[Any]) -> Any:
    """Returns `result` as the kind of array that `caller` is: a tensor of torch, or itself."""
    return sys.modules["torch"].from_dlpack(result) if is_torch(caller) else result


def one_of(words: Iterable[str]) -> str:
    """Returns "a", "a or b", "a, b or c"."""
    *first, last = words
    return f"{', '.join(first)} or {last}" if first else last


def _array_of(value: object, name: str, dtypes: tuple[str, ...]) -> Array:
    found = _of_torch(value, name) if is_torch(value) else _of_protocols(value, name)
    if found.dtype not in dtypes or not found.data.dtype.isnative:
        order = "" if found.data.dtype.isnative else " in the byte order of another machine"
        raise Error(f"{name} holds {found.dtype}{order}; it must hold {one_of(dtypes)}")
    return found


def _is_aligned(data: npt.NDArray[Any]) -> bool:
    return data.flags.aligned and not any(step % data.itemsize for step in data.strides)


def _of_torch(tensor: Any, name: str) -> Array:
    torch = sys.modules["torch"]
    if tensor.device.type != "cpu":
        raise Error(f"{name} is on the device {tensor.device}; pass {name}.cpu()")
    if tensor.requires_grad:
        raise Error(f"{name} requires a gradient, and tamis has none; pass {name}.detach()")
    if tensor.layout != torch.strided:
        raise Error(f"{name} is {tensor.layout}; it must be strided: pass {name}.to_dense()")
    if tensor.dtype == torch.bfloat16:
        return Array(tensor.view(torch.int16).numpy().view(np.uint16), "bf16")
    return _named(tensor.numpy())


def _of_protocols(value: Any, name: str) -> Array:
    if isinstance(value, np.ma.MaskedArray):
        raise Error(f"{name} is a masked array, and tamis has no masks; pass {name}.filled(0)")
    if isinstance(value, np.ndarray):
        return _named(np.asarray(value))
    if hasattr(value, "__dlpack_device__") and value.__dlpack_device__()[0] != _CPU:
        raise Error(f"{name} is in the memory of another device; copy it to the CPU's first")
    try:
        if hasattr(value, "__dlpack__"):
            try:
                return _named(np.from_dlpack(value))
            except (BufferError, RuntimeError, TypeError):  # bfloat16, perhaps
                return _named(np.asarray(value))
        return _named(np.asarray(memoryview(value)))
    except (BufferError, RuntimeError, TypeError, ValueError):
        kind = type(value).__name__
        raise Error(
            f"{name} is of type {kind}; it must be an array, as of NumPy or torch"
        ) from None


def _named(data: npt.NDArray[Any]) -> Array:
    dtype = _NATIVE.get(data.dtype) or _NAMES.get(data.dtype.name, data.dtype.name)
    return Array(data.view(np.uint16) if dtype == "bf16" else data, dtype)
