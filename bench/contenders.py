"""The contenders: tamis through its C ABI, torch's SDPA, ggml's flash_attn_ext. All read the same
K and V.

Each has `set_q()`, which keeps a reference, `run()`, which alone is timed, `output()`, and
`arithmetic`, from which the tolerance of its output is derived.
"""

import ctypes
from ctypes import c_char_p, c_float, c_int, c_int64, c_size_t, c_void_p

import memory
import numpy as np
import torch
from exact import BF16, F16, Arithmetic
from tamis_c import DTYPES, Pages, Shape, Workspace, address

sdpa = torch.nn.functional.scaled_dot_product_attention


class Tamis:
    """The dense engine through tamis.h. It takes grouped-query heads as they are, in pages of 128
    tokens. Tables, mask and workspace are made once, as a decode loop would make them."""

    owner = "tamis"
    layout = ""
    arithmetic = Arithmetic()

    def __init__(self, library, dtype, q, k, v, scale, threads):
        heads, rows, d = q.shape
        kv_heads, n, _ = k.shape
        self.name, self.dtype, self.native = f"tamis {dtype}", dtype, library
        self.out = np.empty_like(q)
        self.lse = np.empty((heads, rows), np.float32)
        self.seen = np.arange(1, n + 1) if rows > 1 else None
        self.shape = Shape(ctypes.sizeof(Shape), heads, kv_heads, rows, d, d, DTYPES[dtype], scale)
        self.pages = Pages(k, v)
        self.workspace = Workspace(library, threads)
        self.set_q(q)

    def set_q(self, q):
        self.q = q
        self.arguments = (
            ctypes.addressof(self.shape),
            address(q),
            ctypes.addressof(self.pages.kv),
            None if self.seen is None else address(self.seen),
            self.workspace.handle,
            address(self.out),
            address(self.lse),
        )

    def run(self):
        self.native.call(self.native.c.tamis_dense, *self.arguments)

    def output(self):
        return self.out


class Torch:
    """scaled_dot_product_attention. `layout` says how a query group is matched with its KV head:
    folded         the group's heads are queries of one head (decode only, where these queries
                   share a mask)
    grouped-query  enable_gqa=True
    expanded       K and V are repeated for every query head beforehand, which is not timed
    """

    owner = "torch"

    def __init__(self, dtype, q, k, v, scale, layout):
        heads, rows, _ = q.shape
        kv_heads = k.shape[0]
        kind = {"f32": torch.float32, "bf16": torch.bfloat16}[dtype]
        self.name, self.dtype, self.layout = f"torch {dtype}", dtype, layout
        self.arithmetic = Arithmetic(weights=BF16, output=BF16) if dtype == "bf16" else Arithmetic()
        self.k, self.v = (torch.from_numpy(x).view(kind)[None] for x in (k, v))
        self.shape, self.kind = q.shape, kind
        self.set_q(q)
        if layout == "expanded":
            self.k, self.v = (
                x.repeat_interleave(heads // kv_heads, dim=1) for x in (self.k, self.v)
            )
        self.options = {
            "scale": scale,
            "is_causal": rows > 1,
            "enable_gqa": layout == "grouped-query",
        }

    def set_q(self, q):
        self.q = torch.from_numpy(q).to(self.kind)[None]
        if self.layout == "folded":
            self.q = self.q.reshape(1, self.k.shape[1], -1, q.shape[-1])

    def run(self):
        with torch.inference_mode():
            self.out = sdpa(self.q, self.k, self.v, **self.options)

    def output(self):
        return self.out.float().numpy().reshape(self.shape)


class Ggml:
    """flash_attn_ext on keys and values in f16, or in one of ggml's quantised types, as llama.cpp's
    quantised caches are. Its accumulator is f16 too. Decode only."""

    owner = "ggml"
    arithmetic = Arithmetic(accumulator=F16)

    @staticmethod
    def load(path):
        library = ctypes.CDLL(str(path))
        library.ggml_peer_new.restype = c_void_p
        library.ggml_peer_new.argtypes = [
            c_char_p, *[c_int64] * 4, c_float, c_int, c_int, c_void_p, c_void_p
        ]  # fmt: skip
        library.ggml_peer_row_bytes.restype = c_size_t
        library.ggml_peer_row_bytes.argtypes = [c_char_p, c_int64]
        library.ggml_peer_quantise.argtypes = [c_char_p, c_void_p, c_void_p, c_int64, c_int64]
        library.ggml_peer_set_q.argtypes = [c_void_p, c_void_p]
        library.ggml_peer_run.argtypes = [c_void_p]
        library.ggml_peer_output.argtypes = [c_void_p, c_void_p]
        library.ggml_peer_free.argtypes = [c_void_p]
        return library

    @staticmethod
    def quantised(library, dtype, x):
        """x [kv_heads, n, d] of f32 in a quantised type, as bytes."""
        kv_heads, n, d = x.shape
        row = library.ggml_peer_row_bytes(dtype.encode(), d)
        out = memory.allocate((kv_heads, n, row), np.uint8)
        library.ggml_peer_quantise(dtype.encode(), address(x), address(out), kv_heads * n, d)
        return out

    def __init__(self, library, dtype, q, k, v, scale, layout, threads):
        heads, _, d = q.shape
        kv_heads, n, _ = k.shape
        self.name, self.dtype, self.layout = f"ggml {dtype}", dtype, layout
        self.native, self.shape = library, q.shape
        self.keep = (k, v)
        self.relative_errors = []
        fold = int(layout == "folded")
        self.peer = library.ggml_peer_new(
            dtype.encode(), heads, kv_heads, n, d, scale, fold, threads, address(k), address(v)
        )
        if not self.peer:
            raise RuntimeError("ggml could not set up flash_attn_ext")
        self.set_q(q)

    def set_q(self, q):
        self.native.ggml_peer_set_q(self.peer, address(q))

    def run(self):
        if self.native.ggml_peer_run(self.peer) != 0:
            raise RuntimeError("ggml failed to compute")

    def output(self):
        out = np.empty(self.shape, np.float32)
        self.native.ggml_peer_output(self.peer, address(out))
        return out

    def compare(self, exact):
        """Runs once and keeps the distance of each output from f64, relative to its norm."""
        self.run()
        error = np.linalg.norm(self.output() - exact.out, axis=-1)
        self.relative_errors += list((error / np.linalg.norm(exact.out, axis=-1)).ravel())

    def __del__(self):
        if getattr(self, "peer", None):
            self.native.ggml_peer_free(self.peer)
