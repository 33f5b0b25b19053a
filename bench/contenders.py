"""Those compared: tamis through its C ABI, torch's SDPA, ggml's flash_attn_ext. All wrap the same K and V.

Each has `run()`, which is timed, `output()`, which is not, and the arithmetic its answer is judged by.
"""

import ctypes
from ctypes import POINTER, c_char_p, c_float, c_int, c_int32, c_int64, c_size_t, c_void_p

import numpy as np
import torch
from exact import BF16, F16, Arithmetic

sdpa = torch.nn.functional.scaled_dot_product_attention


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


class Tamis:
    """The dense engine through tamis.h. It takes grouped-query heads as they are, in pages of 128 tokens;
    tables, mask and workspace are made once, as a decode loop would."""

    owner = "tamis"
    layout = ""
    arithmetic = Arithmetic()
    dtypes = {"f16": 0, "bf16": 1, "f32": 2}  # TAMIS_F16, TAMIS_BF16, TAMIS_F32
    page_tokens = 128  # TAMIS_PAGE_TOKENS

    @staticmethod
    def load(path):
        library = ctypes.CDLL(str(path))
        library.tamis_version.restype = c_char_p
        library.tamis_last_error.restype = c_char_p
        library.tamis_target.argtypes = [POINTER(c_char_p)]
        library.tamis_workspace_create.argtypes = [c_int, POINTER(c_void_p)]
        library.tamis_workspace_free.argtypes = [c_void_p]
        library.tamis_dense.argtypes = [c_void_p] * 7
        return library

    @staticmethod
    def version(library):
        target = c_char_p()
        Tamis.call(library, library.tamis_target, ctypes.byref(target))
        return f"{library.tamis_version().decode()} {target.value.decode()}"

    @staticmethod
    def call(library, function, *arguments):
        if function(*arguments) != 0:
            raise RuntimeError(f"tamis: {library.tamis_last_error().decode()}")

    def __init__(self, library, dtype, q, k, v, scale, threads):
        heads, rows, d = q.shape
        kv_heads, n, _ = k.shape
        self.name, self.dtype, self.library = f"tamis {dtype}", dtype, library
        self.q, self.k, self.v, self.out = q, k, v, np.empty_like(q)
        self.lse = np.empty((heads, rows), np.float32)
        self.seen = np.arange(1, n + 1) if rows > 1 else None
        self.shape = Shape(ctypes.sizeof(Shape), heads, kv_heads, rows, d, d, self.dtypes[dtype], scale)
        starts = np.arange(0, n, self.page_tokens, dtype=np.uint64)
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
        self.workspace = c_void_p()
        self.call(library, library.tamis_workspace_create, threads, ctypes.byref(self.workspace))
        self.arguments = (
            ctypes.addressof(self.shape),
            address(q),
            ctypes.addressof(self.kv),
            None if self.seen is None else address(self.seen),
            self.workspace,
            address(self.out),
            address(self.lse),
        )

    def run(self):
        self.call(self.library, self.library.tamis_dense, *self.arguments)

    def output(self):
        return self.out

    def __del__(self):
        if getattr(self, "workspace", None):
            self.library.tamis_workspace_free(self.workspace)


class Torch:
    """scaled_dot_product_attention. `layout` says how the query group meets its KV head:
    folded         the group's heads as queries of one head (decode only: these queries share a mask)
    grouped-query  enable_gqa=True
    expanded       K and V repeated for every query head beforehand, which is not timed
    """

    owner = "torch"

    def __init__(self, dtype, q, k, v, scale, layout):
        heads, rows, d = q.shape
        kv_heads = k.shape[0]
        kind = {"f32": torch.float32, "bf16": torch.bfloat16}[dtype]
        self.name, self.dtype, self.layout = f"torch {dtype}", dtype, layout
        self.arithmetic = Arithmetic(weights=BF16, output=BF16) if dtype == "bf16" else Arithmetic()
        self.k, self.v = (torch.from_numpy(x).view(kind)[None] for x in (k, v))
        self.shape = q.shape
        self.q = torch.from_numpy(q).to(kind)[None]
        if layout == "folded":
            self.q = self.q.reshape(1, kv_heads, heads // kv_heads * rows, d)
        if layout == "expanded":
            self.k, self.v = (x.repeat_interleave(heads // kv_heads, dim=1) for x in (self.k, self.v))
        self.options = {"scale": scale, "is_causal": rows > 1, "enable_gqa": layout == "grouped-query"}

    def run(self):
        with torch.inference_mode():
            self.out = sdpa(self.q, self.k, self.v, **self.options)

    def output(self):
        return self.out.float().numpy().reshape(self.shape)


class Ggml:
    """flash_attn_ext on f16 keys and values; its accumulator is f16 too. Decode only."""

    owner = "ggml"
    dtype = "f16"
    arithmetic = Arithmetic(accumulator=F16)

    @staticmethod
    def load(path):
        library = ctypes.CDLL(str(path))
        library.ggml_peer_new.restype = c_void_p
        library.ggml_peer_new.argtypes = [c_int64] * 4 + [c_float, c_int, c_int, c_void_p, c_void_p]
        library.ggml_peer_set_q.argtypes = [c_void_p, c_void_p]
        library.ggml_peer_run.argtypes = [c_void_p]
        library.ggml_peer_output.argtypes = [c_void_p, c_void_p]
        library.ggml_peer_free.argtypes = [c_void_p]
        return library

    def __init__(self, library, q, k, v, scale, layout, threads):
        heads, _, d = q.shape
        kv_heads, n, _ = k.shape
        self.name, self.layout, self.library, self.shape = "ggml f16", layout, library, q.shape
        self.keep = (k, v)
        fold = int(layout == "folded")
        self.peer = library.ggml_peer_new(
            heads, kv_heads, n, d, scale, fold, threads, address(k), address(v)
        )
        if not self.peer:
            raise RuntimeError("ggml could not set up flash_attn_ext")
        library.ggml_peer_set_q(self.peer, address(q))

    def run(self):
        if self.library.ggml_peer_run(self.peer) != 0:
            raise RuntimeError("ggml failed to compute")

    def output(self):
        out = np.empty(self.shape, np.float32)
        self.library.ggml_peer_output(self.peer, address(out))
        return out

    def __del__(self):
        if getattr(self, "peer", None):
            self.library.ggml_peer_free(self.peer)
