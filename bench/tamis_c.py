"""tamis.h through ctypes: the structs and calls that the benchmarks use."""

import ctypes
from ctypes import (
    POINTER,
    c_char_p,
    c_double,
    c_float,
    c_int,
    c_int32,
    c_int64,
    c_size_t,
    c_uint64,
    c_void_p,
)

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
    """Page tables over k and v [kv_heads, n, d], as a paged cache would keep them. tamis reads
    `.kv`."""

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
    """libtamis.so. `call` raises an exception with tamis' own error message."""

    def __init__(self, path):
        self.c = ctypes.CDLL(str(path))
        self.c.tamis_version.restype = c_char_p
        self.c.tamis_last_error.restype = c_char_p
        self.c.tamis_target.argtypes = [POINTER(c_char_p)]
        self.c.tamis_workspace_create.argtypes = [c_int, POINTER(c_void_p)]
        self.c.tamis_workspace_free.argtypes = [c_void_p]
        self.c.tamis_dense.argtypes = [c_void_p] * 7
        self.c.tamis_cache_free.argtypes = [c_void_p]
        self.c.tamis_cache_free.restype = None
        self.c.tamis_plan_free.argtypes = [c_void_p]
        self.c.tamis_plan_free.restype = None

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


class Heads(ctypes.Structure):
    """tamis_heads."""

    _fields_ = [
        ("size", c_size_t),
        ("query_heads", c_int64),
        ("kv_heads", c_int64),
        ("key_dim", c_int64),
        ("value_dim", c_int64),
        ("scale", c_float),
        ("reserved", c_int32),
    ]


class CacheOptions(ctypes.Structure):
    """tamis_cache_options."""

    _fields_ = [
        ("size", c_size_t),
        ("bits", c_int32),
        ("dtype", c_int32),
        ("sinks", c_int64),
        ("raw_below", c_int64),
        ("capacity", c_size_t),
        ("memory", c_void_p),
    ]


class CacheInfo(ctypes.Structure):
    """tamis_cache_info."""

    _fields_ = [
        ("size", c_size_t),
        ("sequences", c_int64),
        ("bytes", c_size_t),
        ("free_bytes", c_size_t),
    ]


class Rows(ctypes.Structure):
    """tamis_rows."""

    _fields_ = [
        ("size", c_size_t),
        ("data", c_void_p),
        ("dtype", c_int32),
        ("reserved", c_int32),
        ("token_stride", c_int64),
        ("head_stride", c_int64),
        ("channel_stride", c_int64),
        ("sequence_stride", c_int64),
    ]


class Batch(ctypes.Structure):
    """tamis_batch."""

    _fields_ = [
        ("size", c_size_t),
        ("count", c_size_t),
        ("sequences", c_void_p),
        ("queries", c_void_p),
        ("seen", c_void_p),
    ]


class Queries(ctypes.Structure):
    """tamis_queries."""

    _fields_ = [
        ("size", c_size_t),
        ("data", c_void_p),
        ("dtype", c_int32),
        ("reserved", c_int32),
        ("query_stride", c_int64),
        ("head_stride", c_int64),
    ]


class Budget(ctypes.Structure):
    """tamis_budget."""

    _fields_ = [
        ("kind", c_int32),
        ("reserved", c_int32),
        ("eps", c_double),
        ("share", c_double),
        ("alpha", c_double),
        ("exponent", c_double),
        ("k", c_int64),
        ("window", c_int64),
        ("sinks", c_int64),
    ]


class AttendOptions(ctypes.Structure):
    """tamis_attend_options."""

    _fields_ = [
        ("size", c_size_t),
        ("prefer", c_int32),
        ("look", c_int32),
        ("dense_below", c_int64),
        ("value_share", c_double),
    ]


class Certificate(ctypes.Structure):
    """tamis_certificate."""

    _fields_ = [
        ("tau", c_double),
        ("error", c_double),
        ("lse_error", c_double),
        ("reached", c_int32),
        ("dense", c_int32),
        ("grade", c_int32),
        ("reserved", c_int32),
        ("raw_keys", c_int64),
        ("keys", c_int64 * 4),
        ("raw_values", c_int64),
        ("centre_values", c_int64),
        ("values", c_int64 * 4),
        ("bytes", c_int64),
        ("dense_bytes", c_int64),
    ]


class Results(ctypes.Structure):
    """tamis_results."""

    _fields_ = [
        ("size", c_size_t),
        ("out", c_void_p),
        ("dtype", c_int32),
        ("reserved", c_int32),
        ("query_stride", c_int64),
        ("head_stride", c_int64),
        ("lse", c_void_p),
        ("certificates", c_void_p),
        ("certificate_size", c_size_t),
    ]


class Cache:
    """A tamis_cache whose sequences are named 0, 1, … ."""

    def __init__(self, library, shape, bits, sequences=1):
        self.native, self.handle = library, c_void_p()
        self.heads = Heads(
            ctypes.sizeof(Heads), shape.heads, shape.kv_heads, shape.d, shape.d, shape.scale
        )
        options = CacheOptions(ctypes.sizeof(CacheOptions), bits, DTYPES["bf16"])
        c = library.c
        library.call(
            c.tamis_cache_create,
            ctypes.byref(self.heads),
            ctypes.byref(options),
            ctypes.byref(self.handle),
        )
        for name in range(sequences):
            library.call(c.tamis_cache_add, self.handle, c_uint64(name))

    def append(self, k, v, first, tokens, workspace, sequence=0):
        """Appends tokens first … first + tokens − 1 of k and v [kv_heads, n, d] in bf16."""
        self.append_rows(*self.rows_of(k, v, first), (c_int64 * 1)(tokens), workspace, sequence)

    def append_rows(self, keys, values, count, workspace, sequence=0):
        names = (c_uint64 * 1)(sequence)
        c = self.native.c
        self.native.call(
            c.tamis_cache_append,
            self.handle,
            c_size_t(1),
            names,
            count,
            keys,
            values,
            workspace.handle,
        )

    @staticmethod
    def rows_of(k, v, first):
        def rows(x):
            _, n, d = x.shape
            at = x.ctypes.data + first * x.strides[1]
            return ctypes.byref(Rows(ctypes.sizeof(Rows), at, DTYPES["bf16"], 0, d, n * d, 1, 0))

        return rows(k), rows(v)

    def plan(self, sequences):
        """Returns a tamis_plan of one query of each sequence, which the caller must free."""
        names = (c_uint64 * len(sequences))(*sequences)
        ones = (c_int64 * len(sequences))(*[1] * len(sequences))
        batch = Batch(
            ctypes.sizeof(Batch),
            len(sequences),
            ctypes.addressof(names),
            ctypes.addressof(ones),
            None,
        )
        plan = c_void_p()
        self.native.call(
            self.native.c.tamis_plan_create, self.handle, ctypes.byref(batch), ctypes.byref(plan)
        )
        return plan

    def bytes(self):
        info = CacheInfo(ctypes.sizeof(CacheInfo))
        self.native.call(self.native.c.tamis_cache_get_info, self.handle, ctypes.byref(info))
        return info.bytes

    def __del__(self):
        if self.handle:
            self.native.c.tamis_cache_free(self.handle)
