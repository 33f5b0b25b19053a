"""The hash that saved sequences and the points of stores use, for the scripts that make seeds."""

import struct


def xxh64(data):
    """XXH64 with seed 0, written from its specification."""
    mask = 2**64 - 1
    p1, p2, p3, p4, p5 = (0x9E3779B185EBCA87, 0xC2B2AE3D27D4EB4F, 0x165667B19E3779F9,
                          0x85EBCA77C2B2AE63, 0x27D4EB2F165667C5)  # fmt: skip

    def rotate(x, bits):
        return (x << bits | x >> (64 - bits)) & mask

    def lane(word, state=0):
        return rotate((state + word * p2) & mask, 31) * p1 & mask

    whole = len(data) // 32 * 32
    if whole:
        states = [p1 + p2 & mask, p2, 0, -p1 & mask]
        for words in struct.iter_unpack("<4Q", data[:whole]):
            states = [lane(word, state) for word, state in zip(words, states, strict=True)]
        hashed = (
            sum(rotate(state, bits) for state, bits in zip(states, (1, 7, 12, 18), strict=True))
            & mask
        )
        for state in states:
            hashed = ((hashed ^ lane(state)) * p1 + p4) & mask
    else:
        hashed = p5
    hashed = (hashed + len(data)) & mask
    rest = data[whole:]
    while len(rest) >= 8:
        hashed = (rotate(hashed ^ lane(struct.unpack_from("<Q", rest)[0]), 27) * p1 + p4) & mask
        rest = rest[8:]
    if len(rest) >= 4:
        hashed = (
            rotate(hashed ^ struct.unpack_from("<I", rest)[0] * p1 & mask, 23) * p2 + p3
        ) & mask
        rest = rest[4:]
    for byte in rest:
        hashed = rotate(hashed ^ byte * p5 & mask, 11) * p1 & mask
    for shift, prime in ((33, p2), (29, p3), (32, 1)):
        hashed = (hashed ^ hashed >> shift) * prime & mask
    return f"{hashed:016x}"
