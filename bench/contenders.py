"""Those compared: tamis through its C ABI, torch's SDPA, ggml's flash_attn_ext. All wrap the same K and V.

Each has `run()`, which is timed, `output()`, which is not, and the arithmetic its answer is judged by.
"""

import ctypes
from ctypes import c_char_p, c_float, c_int, c_int64, c_void_p

import numpy as np
import torch
from exact import BF16, F16, Arithmetic

sdpa = torch.nn.functional.scaled_dot_product_attention


def address(array):
    return array.ctypes.data_as(c_void_p)


class Tamis:
    """The dense engine; it takes grouped-query heads as they are."""

    owner = "tamis"
    layout = ""
    arithmetic = Arithmetic()

    @staticmethod
    def load(path):
        library = ctypes.CDLL(str(path))
        library.bench_tamis_new.restype = c_void_p
        library.bench_tamis_new.argtypes = [c_int64] * 5 + [c_int, c_float, c_int, c_void_p, c_void_p]
        library.bench_tamis_run.argtypes = [c_void_p, c_void_p, c_void_p]
        library.bench_tamis_message.restype = c_char_p
        library.bench_tamis_message.argtypes = [c_void_p]
        library.bench_tamis_version.restype = c_char_p
        library.bench_tamis_free.argtypes = [c_void_p]
        return library

    @staticmethod
    def version(library):
        return library.bench_tamis_version().decode()

    def __init__(self, library, dtype, q, k, v, scale, threads):
        heads, rows, d = q.shape
        kv_heads, n, _ = k.shape
        self.name, self.dtype, self.library = f"tamis {dtype}", dtype, library
        self.q, self.k, self.v, self.out = q, k, v, np.empty_like(q)
        code = {"f16": 0, "bf16": 1, "f32": 2}[dtype]
        self.entry = library.bench_tamis_new(
            heads, kv_heads, rows, n, d, code, scale, threads, address(k), address(v)
        )
        if not self.entry:
            raise RuntimeError("tamis could not set up dense attention")
        self.arguments = (self.entry, address(q), address(self.out))

    def run(self):
        if self.library.bench_tamis_run(*self.arguments) != 0:
            raise RuntimeError(self.library.bench_tamis_message(self.entry).decode())

    def output(self):
        return self.out

    def __del__(self):
        if getattr(self, "entry", None):
            self.library.bench_tamis_free(self.entry)


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
