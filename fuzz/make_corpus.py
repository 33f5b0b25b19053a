#!/usr/bin/env python3
"""Write the seed corpora: for each parser, small valid files and one file of each kind of damage.

The replay programs check that files called valid… are accepted.

The script uses the standard library only and always writes the same files.

    fuzz/make_corpus.py [FOLDER]      default: corpus/ beside this script
"""

import json
import math
import shutil
import struct
import sys
from pathlib import Path

from corpus_caches import cache_seeds
from corpus_profiles import profile_file_seeds, profile_seeds
from corpus_refutations import refutation_seeds
from corpus_stores import store_seeds

SIZES = {"F16": 2, "BF16": 2, "F32": 4, "F64": 8, "I8": 1, "I16": 2, "I32": 4, "I64": 8,
         "U8": 1, "U16": 2, "U32": 4, "U64": 8, "BOOL": 1}  # fmt: skip


def raw_safetensors(header, data=b""):
    """A file with the given header, which is JSON text or bytes."""
    header = header.encode() if isinstance(header, str) else header
    return struct.pack("<Q", len(header)) + header + data


def safetensors(tensors, metadata=None):
    """A file of {name: (dtype, shape, bytes)}; bytes None means zeros."""
    table, data = ({"__metadata__": metadata} if metadata is not None else {}), b""
    for name, (dtype, shape, content) in tensors.items():
        content = bytes(SIZES[dtype] * math.prod(shape)) if content is None else content
        table[name] = {
            "dtype": dtype,
            "shape": shape,
            "data_offsets": [len(data), len(data) + len(content)],
        }
        data += content
    return raw_safetensors(json.dumps(table), data)


def entry(shape="[4]", offsets="[0,4]", dtype='"U8"', name='"a"'):
    return f'{name}:{{"dtype":{dtype},"shape":{shape},"data_offsets":{offsets}}}'


def safetensors_seeds():
    whole = safetensors({dtype: (dtype, [2, 3], None) for dtype in SIZES}, {"note": "every type"})
    yield "valid-types", whole
    yield "valid-empty", raw_safetensors("{}")
    yield (
        "valid-zero-dimension",
        safetensors({"none": ("F32", [3, 0, 2**62], None), "scalar": ("I64", [], None)}),
    )
    yield "valid-escapes", safetensors({'é\n"\\': ("U8", [1], None)}, {"😀": "\u0000"})
    yield "truncated-length", whole[:5]
    yield "truncated-header", whole[:100]
    yield "truncated-data", whole[:-1]
    yield "trailing-bytes", whole + b"x"
    yield "header-beyond-file", struct.pack("<Q", 2**62) + b"{}"
    yield "header-all-ones", b"\xff" * 8 + b"{}"
    yield "not-json", raw_safetensors("{not json}")
    yield "not-an-object", raw_safetensors("[]")
    yield "not-utf8", raw_safetensors(b'{"\xff\xfe":{}}')
    yield "byte-order-mark", raw_safetensors("\ufeff{}")
    yield "zero-byte", raw_safetensors(b"{}\0}")
    yield "deep-arrays", raw_safetensors('{"a":{"shape":' + "[" * 2000)
    yield "deep-objects", raw_safetensors('{"a":' * 2000)
    yield (
        "overlap",
        raw_safetensors(
            f"{{{entry()},{entry(name=chr(34) + 'b' + chr(34), offsets='[2,6]')}}}", bytes(6)
        ),
    )
    yield "gap", raw_safetensors(f"{{{entry(offsets='[2,6]')}}}", bytes(6))
    yield "offsets-out-of-range", raw_safetensors(f"{{{entry(offsets='[4,8]')}}}", bytes(4))
    yield "offsets-reversed", raw_safetensors(f"{{{entry(offsets='[4,0]')}}}", bytes(4))
    yield "offsets-three", raw_safetensors(f"{{{entry(offsets='[0,4,4]')}}}", bytes(4))
    yield "shape-mismatch", raw_safetensors(f"{{{entry(shape='[5]')}}}", bytes(4))
    yield "shape-2-to-63", raw_safetensors(f"{{{entry(shape=f'[{2**63}]')}}}", bytes(4))
    yield "shape-overflow", raw_safetensors(f"{{{entry(shape=f'[{2**62},4]')}}}", bytes(4))
    yield "shape-negative", raw_safetensors(f"{{{entry(shape='[-4]')}}}", bytes(4))
    yield "shape-fraction", raw_safetensors(f"{{{entry(shape='[4.0]')}}}", bytes(4))
    yield "shape-long", raw_safetensors(f"{{{entry(shape=str([1] * 65))}}}", bytes(4))
    yield (
        "dtype-unknown",
        raw_safetensors(f"{{{entry(dtype=chr(34) + 'F8_E4M3' + chr(34))}}}", bytes(4)),
    )
    yield "dtype-number", raw_safetensors(f"{{{entry(dtype='7')}}}", bytes(4))
    yield "duplicate-name", raw_safetensors(f"{{{entry()},{entry()}}}", bytes(4))
    yield "duplicate-metadata", raw_safetensors('{"__metadata__":{"a":"1","a":"2"}}')
    yield "zero-byte-name", safetensors({"a\0b": ("U8", [1], None)})
    yield "zero-byte-key", safetensors({}, {"a\0b": "1"})
    yield "metadata-number", raw_safetensors('{"__metadata__":{"scale":0.125}}')
    yield "missing-shape", raw_safetensors('{"a":{"dtype":"U8","data_offsets":[0,0]}}')


TRACE_METADATA = {
    "format": "tamis-trace", "version": "1", "scale": "0.5", "causal": "true", "tokens": "3",
    "rope_theta": "1e5", "rope_dims": "2", "rope_style": "half",
}  # fmt: skip


def trace_tensors():
    return {
        "positions": ("I64", [2], struct.pack("<2q", 0, 2)),
        "layers.3.q": ("F32", [2, 2, 2], None),
        "layers.3.k": ("F16", [1, 3, 2], None),
        "layers.3.v": ("F16", [1, 3, 1], None),
        "layers.3.w_q": ("F32", [2, 2, 2], None),
        "layers.3.w_k": ("F64", [1, 2, 2], None),
        "layers.3.w_norm": ("F32", [2], struct.pack("<2f", 1, 2)),
        "layers.3.input_bound": ("BF16", [1], b"\x80\x3f"),
        "layers.12.q": ("BF16", [1, 2, 2], None),
        "layers.12.k": ("BF16", [1, 3, 2], None),
        "layers.12.v": ("BF16", [1, 3, 2], None),
    }


def trace_seeds():
    def spoilt(metadata=None, **tensors):
        """The valid trace with changes. Tensor names have __ for dots; None removes an entry."""
        changed = trace_tensors() | {
            name.replace("__", "."): tensor for name, tensor in tensors.items()
        }
        entries = TRACE_METADATA | (metadata or {})
        return safetensors({name: tensor for name, tensor in changed.items() if tensor is not None},
                           {key: value for key, value in entries.items() if value is not None})  # fmt: skip

    yield "valid", spoilt()
    yield "valid-least", safetensors(
        {"positions": ("U8", [1], b"\0"), **{f"layers.0.{f}": ("F16", [1, 1, 1], None) for f in "qkv"}},
        {"scale": "1", "causal": "false"})  # fmt: skip
    yield "no-layers", safetensors({"positions": ("I64", [1], None)}, TRACE_METADATA)
    yield "no-positions", spoilt(positions=None)
    yield "no-keys", spoilt(layers__3__k=None)
    yield "no-scale", spoilt({"scale": None})
    yield "other-version", spoilt({"version": "2"})
    yield "rope-incomplete", spoilt({"rope_style": None})
    yield (
        "zero-tokens",
        spoilt(layers__3__k=("F16", [1, 0, 2], None), layers__3__v=("F16", [1, 0, 1], None)),
    )
    yield "zero-queries", spoilt(layers__3__q=("F32", [2, 0, 2], None))
    yield "position-past-the-end", spoilt(positions=("I64", [2], struct.pack("<2q", 0, 3)))
    yield "position-negative", spoilt(positions=("I64", [2], struct.pack("<2q", -1, 2)))
    yield "position-huge", spoilt(positions=("U64", [2], b"\xff" * 16))
    yield "positions-float", spoilt(positions=("F32", [2], None))
    yield "query-dtype", spoilt(layers__3__q=("F64", [2, 2, 2], None))
    yield "value-dtype", spoilt(layers__3__v=("F32", [1, 3, 1], None))
    yield "query-rank", spoilt(layers__3__q=("F32", [4, 2], None))
    yield (
        "heads-do-not-divide",
        spoilt(layers__3__k=("F16", [3, 3, 2], None), layers__3__v=("F16", [3, 3, 1], None)),
    )
    yield (
        "tokens-differ",
        spoilt(layers__12__k=("BF16", [1, 4, 2], None), layers__12__v=("BF16", [1, 4, 2], None)),
    )
    yield "weights-half", spoilt(layers__3__w_k=None)
    yield "norms-shape", spoilt(layers__3__w_norm=("F32", [3], None))
    yield "norms-negative", spoilt(layers__3__w_norm=("F32", [2], struct.pack("<2f", 1, -2)))
    yield "bound-zero", spoilt(layers__3__input_bound=("F32", [1], None))
    yield "misspelt", spoilt(layers__3__keys=("F32", [1], None))
    yield "leading-zero", spoilt(layers__03__q=("F32", [1], None))
    yield (
        "query-nan",
        spoilt(layers__3__q=("F32", [2, 2, 2], struct.pack("<8f", *[0] * 7, math.nan))),
    )
    yield (
        "key-infinite",
        spoilt(layers__3__k=("F16", [1, 3, 2], struct.pack("<6e", *[0] * 5, math.inf))),
    )
    yield "value-nan", spoilt(layers__12__v=("BF16", [1, 3, 2], b"\xc0\x7f" * 6))
    yield "truncated", spoilt()[:-3]


def witness_seeds():
    conditions = {
        "eps1": "0.1",
        "eps2": "1",
        "causal": "false",
        "weak": "false",
        "method": "moment",
    }
    identity = struct.pack("<6f", 3, 0, 0, 3, -3, -3)
    tensors = {"q": ("F32", [3, 2], identity), "k": ("F32", [3, 2], identity)}
    doubles = struct.pack("<4d", 2, 0, 0, 2)
    inputs = {name: ("F64", [2, 2], doubles) for name in ("x", "w_q", "w_k")}

    def spoilt(metadata=None, given=None, **changed):
        """A valid witness with changes; None removes an entry."""
        entries = conditions | (metadata or {})
        named = (tensors if given is None else given) | changed
        return safetensors({name: tensor for name, tensor in named.items() if tensor is not None},
                           {key: value for key, value in entries.items() if value is not None})  # fmt: skip

    yield "valid", spoilt()
    yield "valid-inputs", spoilt(given=inputs)
    yield "valid-weak", spoilt({"weak": "true", "eps1": None, "eps2": None})
    yield "valid-causal", spoilt({"causal": "true", "format": "tamis-witness", "version": "1"})
    yield "valid-without-metadata", safetensors(tensors)
    yield "valid-wide", spoilt(q=("F32", [1, 2], identity[:8]))
    yield "valid-both", spoilt(given=tensors, x=("F32", [3, 1], None), w_q=("F32", [1, 1], None),
                               w_k=("F64", [1, 1], None))  # fmt: skip
    yield "valid-huge-numbers", spoilt(given={"q": ("F64", [1, 1], struct.pack("<d", 1e308)),
                                              "k": ("F64", [2, 1], struct.pack("<2d", 1e308, -1e308))})  # fmt: skip
    yield "valid-tiny-numbers", spoilt(given={"q": ("F64", [1, 1], struct.pack("<d", 5e-324)),
                                              "k": ("F64", [2, 1], struct.pack("<2d", 5e-324, 0))})  # fmt: skip
    yield "no-keys", spoilt(k=None)
    yield "no-tensors", spoilt(given={})
    yield "no-weights", spoilt(given=inputs, w_k=None)
    yield "eps1-one", spoilt({"eps1": "1"})
    yield "eps1-nan", spoilt({"eps1": "nan"})
    yield "eps1-word", spoilt({"eps1": "small"})
    yield "eps2-zero", spoilt({"eps2": "0"})
    yield "causal-word", spoilt({"causal": "yes"})
    yield "other-format", spoilt({"format": "tamis-trace"})
    yield "other-version", spoilt({"version": "2"})
    yield "half-precision", spoilt(q=("F16", [3, 2], None))
    yield "vector", spoilt(q=("F32", [6], identity))
    yield "no-rows", spoilt(q=("F32", [0, 2], None))
    yield "dimensions-differ", spoilt(q=("F32", [2, 3], identity))
    yield "sizes-differ", spoilt(given=tensors | inputs)
    yield "query-nan", spoilt(q=("F32", [3, 2], struct.pack("<6f", *[0] * 5, math.nan)))
    yield "key-infinite", spoilt(k=("F32", [3, 2], struct.pack("<6f", math.inf, *[0] * 5)))
    yield "truncated", spoilt()[:-3]


def npy(header, data=b"", version=1):
    length = struct.pack("<H" if version == 1 else "<I", len(header))
    return b"\x93NUMPY" + bytes([version, 0]) + length + header.encode() + data


def npy_header(descr="'<f4'", order="False", shape="(2, 2)"):
    return f"{{'descr': {descr}, 'fortran_order': {order}, 'shape': {shape}, }}\n"


def npy_seeds():
    matrix = struct.pack("<4f", 1, 0, 0, 2)
    for descr in (
        "<f2",
        "<V2",
        "<f4",
        "<f8",
        "|i1",
        "<i2",
        "<i4",
        "<i8",
        "|u1",
        "<u2",
        "<u4",
        "<u8",
        "|b1",
    ):
        yield "valid-" + descr[1:], npy(npy_header(f"'{descr}'"), b"\1" * (4 * int(descr[2:])))
    yield "valid-2", npy(npy_header(), matrix, 2)
    yield "valid-3", npy(npy_header(), matrix, 3)
    yield "scalar", npy(npy_header(shape="()"), matrix[:4])
    yield "valid-long", npy(npy_header(shape="(2L, 2L)"), matrix)
    yield "empty", npy(npy_header(shape="(0, 3)"))
    yield "version", npy(npy_header(), matrix, 9)
    yield "truncated-magic", b"\x93NUM"
    yield "truncated-header", npy(npy_header(), matrix)[:30]
    yield "truncated-data", npy(npy_header(), matrix)[:-1]
    yield "trailing-bytes", npy(npy_header(), matrix + b"x")
    yield "header-beyond-file", b"\x93NUMPY\x02\x00\xff\xff\xff\xff{}"
    yield "fortran", npy(npy_header(order="True"), matrix)
    yield "big-endian", npy(npy_header("'>f4'"), matrix)
    yield "complex", npy(npy_header("'<c8'"), matrix * 2)
    yield "records", npy(npy_header("[('a', '<f4')]"), matrix)
    yield "shape-2-to-63", npy(npy_header(shape=f"({2**63},)"), matrix)
    yield "shape-overflow", npy(npy_header(shape=f"({2**62}, 8)"), matrix)
    yield "shape-negative", npy(npy_header(shape="(-1, 2)"), matrix)
    yield "field-twice", npy("{'descr': '<f4', 'descr': '<f4'}")
    yield "field-missing", npy("{'descr': '<f4'}")
    yield "deep", npy("{'descr': " + "(" * 2000)
    yield "not-utf8", b"\x93NUMPY\x01\x00\x04\x00{'\xff'"
    yield "pattern-negative", npy(npy_header(), struct.pack("<4f", 1, 0, 0, -2))
    yield "pattern-nan", npy(npy_header(), struct.pack("<4f", 1, 0, 0, math.nan))
    yield "pattern-empty-row", npy(npy_header(), struct.pack("<4f", 1, 2, 0, 0))
    yield "pattern-cube", npy(npy_header(shape="(1, 2, 2)"), matrix)


def matrix_market_seeds():
    def market(kind, body):
        return f"%%MatrixMarket matrix {kind}\n{body}".encode()

    yield (
        "valid-coordinate",
        market("coordinate real general", "% comment\n\n2 3 3\n1 1 1\n2 3 0.5\n1 2 +2e0\n"),
    )
    yield "valid-pattern", market("coordinate pattern general", "1 2 1\r\n1 2")
    yield "valid-symmetric", market("coordinate integer symmetric", "2 2 2\n1 1 3\n2 1 4\n")
    yield "valid-array", market("array real general", "2 2\n1\n0\n2\n3\n")
    yield "valid-array-symmetric", market("array real symmetric", "2 2\n1\n2\n3\n")
    yield (
        "valid-byte-order-mark",
        b"\xef\xbb\xbf" + market("coordinate real general", "1 1 1\n1 1 1\n"),
    )
    yield "valid-wide", market("coordinate pattern general", f"1 {2**62} 1\n1 {2**62}\n")
    yield (
        "valid-wide-equal",
        market("coordinate pattern general", f"2 {2**31} 3\n1 1\n2 7\n1 {2**31}\n"),
    )
    yield "banner", b"%%Matrix\n1 1 1\n1 1 1\n"
    yield "complex", market("coordinate complex general", "1 1 1\n1 1 1 0\n")
    yield "hermitian", market("coordinate real hermitian", "1 1 1\n1 1 1\n")
    yield "skew-symmetric", market("coordinate real skew-symmetric", "2 2 1\n2 1 1\n")
    yield "not-square", market("coordinate real symmetric", "2 3 1\n1 1 1\n")
    yield "truncated-banner", b"%%MatrixMarket"
    yield "truncated-sizes", market("coordinate real general", "")
    yield "truncated-entries", market("coordinate real general", "1 3 3\n1 1 100\n1 2 100\n")
    yield "no-rows", market("coordinate real general", "0 0 0\n")
    yield "no-columns", market("array real general", "1 0\n")
    yield "rows-2-to-31", market("coordinate real general", f"{2**31} 1 1\n1 1 1\n")
    yield "rows-2-to-62", market("coordinate real general", f"{2**62} 1 1\n1 1 1\n")
    yield "rows-2-to-63", market("coordinate real general", f"{2**63} 1 1\n1 1 1\n")
    yield "entries-2-to-62", market("coordinate real general", f"1 1 {2**62}\n1 1 1\n")
    yield "array-overflow", market("array real general", f"{2**62} {2**62}\n1\n")
    yield "index-zero", market("coordinate real general", "1 1 1\n0 1 1\n")
    yield "index-outside", market("coordinate real general", "1 1 1\n1 2 1\n")
    yield "negative", market("coordinate real general", "1 1 1\n1 1 -1\n")
    yield "nan", market("coordinate real general", "1 1 1\n1 1 nan\n")
    yield "overflow", market("coordinate real general", "1 1 1\n1 1 1e999\n")
    yield "underflow", market("coordinate real general", "1 1 1\n1 1 1e-400\n")
    yield "integer-fraction", market("coordinate integer general", "1 1 1\n1 1 1.5\n")
    yield "repeated", market("coordinate real general", "1 2 2\n1 1 1\n1 1 1\n")
    yield "empty-row", market("coordinate real general", "2 2 2\n1 1 1\n1 2 1\n")
    yield "too-many-entries", market("coordinate real general", "1 2 1\n1 1 1\n1 2 1\n")
    yield "too-many-fields", market("coordinate real general", "1 1 1\n1 1 1 1\n")


def qrels_seeds():
    yield "valid", b"301 0 doc-b 1\n301\t0\tdoc-a\t0\r\n\n302 Q0 doc-a 2\n302 0 doc-c -1"
    yield "valid-utf8", "1 0 é 1\n".encode()
    yield "valid-byte-order-mark", b"\xef\xbb\xbf1 0 a 1\n1 0 b 1\n"
    yield "zero-byte-name", b"1 0 a\0b 1\n"
    yield "empty", b""
    yield "three-fields", b"query-id corpus-id score\n"
    yield "five-fields", b"1 0 a 1 5\n"
    yield "relevance-word", b"1 0 a yes\n"
    yield "relevance-huge", b"1 0 a 99999999999999999999\n"
    yield "repeated", b"1 0 a 1\n1 0 a 0\n"
    yield "empty-row", b"1 0 a 1\n2 0 a 0\n"
    yield "not-utf8", b"1 0 \xff 1\n"
    yield "zero-bytes", bytes(20)


def main():
    folder = Path(sys.argv[1]) if len(sys.argv) > 1 else Path(__file__).parent / "corpus"
    makers = {"safetensors": safetensors_seeds, "trace": trace_seeds, "npy": npy_seeds,
              "matrix_market": matrix_market_seeds, "qrels": qrels_seeds,
              "profile": profile_seeds, "profile_file": profile_file_seeds, "cache_file": cache_seeds,
              "witness": witness_seeds, "refutation": refutation_seeds, "store": store_seeds}  # fmt: skip
    for target, seeds in makers.items():
        shutil.rmtree(folder / target, ignore_errors=True)
        (folder / target).mkdir(parents=True)
        for name, content in seeds():
            (folder / target / name).write_bytes(content)


if __name__ == "__main__":
    main()
