"""tamis.h through ctypes: the structs and calls that the benchmarks use."""

import ctypes
from ctypes import POINTER, c_char_p, c_float, c_int, c_int32, c_int64, c_size_t, c_void_p

import numpy as np

DTYPES = {"f16": 0, "bf16": 1, "f32": 2}  # TAMIS_F16, TAMIS_BF16, TAMIS_F32
PAGE_TOKENS = 128  # TAMIS_PAGE_TOKENS


def address(array):
    return array.ctypes.data_as(c_void_p)


class Shape(ctypes.Structure):
    """tamis_shape."""

    _fields_ = [
        ("size", c_size_t),
        ("query_heads", c_int64),
        ("kv_heads", c_int64),
        ("queries", c_int64),
        ("head_dim", c_int64),
        ("value_dim", c_int64),
        ("dtype", c_int32),
        ("scale", c_float),
    ]


class KvPages(ctypes.Structure):
    """tamis_kv_pages."""

    _fields_ = [
        ("k", c_void_p),
        ("v", c_void_p),
        ("tokens", c_int64),
        ("k_stride", c_int64),
        ("v_stride", c_int64),
    ]


class Pages:
    """Page tables over k and v [kv_heads, n, d], as a paged cache would keep them: `.kv` is what tamis reads."""

    def __init__(self, k, v):
        kv_heads, n, d = k.shape
        starts = np.arange(0, n, PAGE_TOKENS, dtype=np.uint64)
        self.arrays = (k, v)
        self.tables = [
            np.uint64(x[h].ctypes.data) + starts * np.uint64(x.strides[1])
            for h in range(kv_heads)
            for x in (k, v)
        ]
        self.kv = (KvPages * kv_heads)(
            *(
                KvPages(address(self.tables[2 * h]), address(self.tables[2 * h + 1]), n, d, d)
                for h in range(kv_heads)
            )
        )


class Library:
    """libtamis.so. `call` raises what tamis says went wrong."""

    def __init__(self, path):
        self.c = ctypes.CDLL(str(path))
        self.c.tamis_version.restype = c_char_p
        self.c.tamis_last_error.restype = c_char_p
        self.c.tamis_target.argtypes = [POINTER(c_char_p)]
        self.c.tamis_workspace_create.argtypes = [c_int, POINTER(c_void_p)]
        self.c.tamis_workspace_free.argtypes = [c_void_p]
        self.c.tamis_dense.argtypes = [c_void_p] * 7

    def call(self, function, *arguments):
        if function(*arguments) != 0:
            raise RuntimeError(f"tamis: {self.c.tamis_last_error().decode()}")

    def version(self):
        target = c_char_p()
        self.call(self.c.tamis_target, ctypes.byref(target))
        return f"{self.c.tamis_version().decode()} {target.value.decode()}"


class Workspace:
    """tamis_workspace, freed with this object."""

    def __init__(self, library, threads):
        self.native, self.handle = library, c_void_p()
        library.call(library.c.tamis_workspace_create, threads, ctypes.byref(self.handle))

    def __del__(self):
        if self.handle:
            self.native.c.tamis_workspace_free(self.handle)
