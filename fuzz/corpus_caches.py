"""Seeds of saved sequences, for make_corpus.py.

They fit the cache of fuzz/cache_file.cpp: head sizes 3 and 2, 12 bits, f16.
"""

import math
import struct

from corpus_hash import xxh64

HEAD = {"magic": b"tamis kv", "version": 1, "bits": 12, "dtype": b"f16", "query_heads": 2, "kv_heads": 1, "key_dim": 3,
        "value_dim": 2, "scale": 0.5, "zero": 0, "sinks": 2, "raw_below": 0, "tokens": 0, "blocks": 0, "kept": 0}  # fmt: skip
LEVELS = 3
ROW = (3 + 2) * 2  # bytes of a raw token
SINKS = 3  # mask of the raw tokens of the first block: bits 0 and 1


def part(content):
    return content + struct.pack("<Q", int(xxh64(content), 16))


def head(**changed):
    return part(struct.pack("<8sII8s4qfI5q", *(HEAD | changed).values()))


def page0(units=(2.0**-9, 2.0**-9), norms=(1.0, 5.0), key_missing=(0.5, 0.03, 0.002, 0), value_missing=(0.5, 0.03, 0.002, 0),
          sizes=(1.0, 0.8, 1.5), raw=SINKS, raw_tokens=2, tokens=128, levels=LEVELS, zero=0, centre=0x3C00,
          step=0x3C00, beyond=0):  # fmt: skip
    """Page 0 of a block: record and first plane of values, laid out as src/cache/block.h says."""
    begin = struct.pack("<4f4f4f3f4I4B", *units, *norms, *key_missing, *value_missing, *sizes, raw, 0, 0, 0,
                        raw_tokens, tokens, levels, zero)  # fmt: skip
    channels = b"".join(
        struct.pack(f"<{dim}H", *[number] * dim) + struct.pack("<H", beyond) + bytes(62 - 2 * dim)
        for dim in (3, 2)
        for number in (centre, step)
    )
    record = begin + channels
    return record + bytes(-len(record) % 64) + plane(7) + plane(5)


def plane(stride):
    return bytes(i * stride % 256 for i in range(128 * 16))


def block(first=None, levels=LEVELS, raw=bytes(2 * ROW)):
    first = page0() if first is None else first
    return part(first + b"".join(plane(3 + p) + plane(11 + p) for p in range(1, levels)) + raw)


def listed(*entries):
    return part(b"".join(struct.pack("<3i", *entry) for entry in entries))


def tokens(count, number=0x3C00):
    return part(struct.pack("<H", number) * (count * ROW // 2))


def cache_seeds():
    later = block(page0(raw=0, raw_tokens=0), raw=b"")
    one = (128, LEVELS, 2)
    yield "valid", head(tokens=135, blocks=1) + listed(one) + block() + tokens(7)
    yield "valid-empty", head() + listed()
    yield "valid-raw", head(tokens=200) + listed() + tokens(128) + tokens(72)
    yield (
        "valid-kept",
        head(tokens=256, blocks=2, kept=1) + listed(one, (128, 2, 0)) + block()
        + block(page0(raw=0, raw_tokens=0), levels=2, raw=b"") + tokens(128),
    )  # fmt: skip
    yield "valid-cut", head(tokens=105, blocks=1) + listed((100, LEVELS, 2)) + block() + tokens(5)
    whole = head(tokens=128, blocks=1) + listed(one)
    yield (
        "valid-huge-numbers",
        whole + block(page0((2.0**41, 2.0**41), (2.0**62,) * 2, step=0x7400)),
    )
    yield (
        "valid-tiny-numbers",
        whole + block(page0((2.0**-100,) * 2, (0, 0), (0,) * 4, (0,) * 4, (0,) * 3)),
    )
    yield "other-version", head(version=2) + listed()
    yield "other-heads", head(query_heads=4) + listed()
    yield "other-bits", head(bits=16) + listed()
    yield "dtype-not-closed", head(dtype=b"f16\0\0\0\0x") + listed()
    yield "wrong-checksum", head()[:-1] + b"!" + listed()
    yield "truncated", (whole + block())[:-3]
    yield "trailing-bytes", head() + listed() + b"x"
    yield "tokens-2-to-62", head(tokens=2**62) + listed()
    yield "tokens-negative", head(tokens=-1) + listed()
    yield "blocks-2-to-62", head(blocks=2**62) + listed()
    yield "too-few-tokens", head(tokens=100, blocks=1) + listed(one) + block()
    yield "block-of-none", head(tokens=0, blocks=1) + listed((0, LEVELS, 0)) + later
    yield "levels-9", head(tokens=128, blocks=1) + listed((128, 9, 2)) + block()
    yield "kept-of-nothing", head(tokens=128, kept=1) + listed() + tokens(128)
    yield "raw-infinite", head(tokens=3) + listed() + tokens(3, 0x7C00)
    yield "sinks-unmarked", whole + block(page0(raw=5))
    yield "raw-miscounted", whole + block(page0(raw=7))
    yield "unit-three", whole + block(page0((3.0, 1.0)))
    yield "norm-nan", whole + block(page0(norms=(math.nan, 1.0)))
    yield "norm-negative", whole + block(page0(sizes=(1.0, -1.0, 1.0)))
    yield "missing-beyond-levels", whole + block(page0(key_missing=(1, 1, 1, 1)))
    yield "centre-infinite", whole + block(page0(centre=0x7C00))
    yield "step-zero", whole + block(page0(step=0))
    yield "channel-that-fills-up", whole + block(page0(beyond=1))
