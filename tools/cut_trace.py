#!/usr/bin/env python3
"""Cut a smaller trace out of a larger one: some layers, KV heads, tokens and queries.

A query head belongs to one KV head (head h to h * kv_heads / query_heads) and is kept with it. The
result is a trace of format v1 (docs/trace.md). Needs numpy and safetensors, and ml_dtypes for
bf16; reads the whole input into memory.

    tools/cut_trace.py big.safetensors small.safetensors --layer 3:1 --layer 12:0,2 --tokens 4096
"""

import argparse
import contextlib
import os
import sys

import numpy as np
import safetensors
import safetensors.numpy

with contextlib.suppress(ImportError):
    import ml_dtypes  # noqa: F401  gives numpy the type bfloat16

# The kind of heads by which a tensor layers.L.F is indexed.
HEADS_OF = {
    "q": "query",
    "k": "kv",
    "v": "kv",
    "w_q": "query",
    "w_k": "kv",
    "w_norm": "query",
    "input_bound": None,
}


class BadInput(Exception):
    """A sentence for the user."""


def read(path):
    """Returns the tensors {name: array} and the metadata of a safetensors file."""
    if os.path.isdir(path):
        raise BadInput(f"{path}: is a directory; give the name of a trace")
    try:
        with safetensors.safe_open(path, framework="np") as file:
            names = file.keys()  # `file` is no dict and cannot be iterated over
            return {name: file.get_tensor(name) for name in names}, dict(file.metadata() or {})
    except OSError as error:
        raise BadInput(f"{path}: {error.strerror or error}") from error
    except safetensors.SafetensorError as error:
        raise BadInput(f"{path}: is not a safetensors file: {error}") from error
    except (TypeError, AttributeError) as error:
        raise BadInput(
            f"{path}: holds an element type that numpy lacks ({error}); install ml_dtypes"
        ) from error


def parse_layer(text):
    """Parses '12' to (12, None) and '12:0,2' to (12, [0, 2])."""
    layer, colon, heads = text.partition(":")
    try:
        return int(layer), [int(head) for head in heads.split(",")] if colon else None
    except ValueError as error:
        raise argparse.ArgumentTypeError(
            f"'{text}' is not L or L:H,H,… with whole numbers"
        ) from error


def parse_entry(text):
    key, equals, value = text.partition("=")
    if not equals or not key:
        raise argparse.ArgumentTypeError(f"'{text}' is not KEY=VALUE")
    return key, value


def get(path, tensors, name):
    if name not in tensors:
        raise BadInput(f"{path}: there is no tensor '{name}'")
    return tensors[name]


def layers_of(path, tensors):
    """Returns the numbers of the layers in the tensors' names, ascending."""
    layers = set()
    for name in tensors:
        if not name.startswith("layers."):
            continue
        number, _, field = name.removeprefix("layers.").partition(".")
        if not (number.isascii() and number.isdigit() and field in HEADS_OF):
            raise BadInput(f"{path}: tensor '{name}' is no part of a trace; it must be layers.L.F with L a layer's "
                           f"number and F one of {', '.join(HEADS_OF)}")  # fmt: skip
        layers.add(int(number))
    if not layers:
        raise BadInput(f"{path}: the trace has no layers; it needs tensors layers.L.q, .k and .v")
    return sorted(layers)


def choose_queries(path, positions, tokens, count):
    """Returns the indices of the queries that lie within the first `tokens`, thinned evenly to
    `count`."""
    inside = np.flatnonzero(positions < tokens)
    if inside.size == 0:
        raise BadInput(f"{path}: no query lies within the first {tokens} tokens; keep more tokens")
    if count is None or count == inside.size:
        return inside
    if count > inside.size:
        raise BadInput(
            f"{path}: --queries asks for {count}, but only {inside.size} lie within the tokens kept"
        )
    return inside[np.round(np.linspace(0, inside.size - 1, count)).astype(int)]


def cut(path, tensors, metadata, wanted, tokens, query_count, entries):
    positions = get(path, tensors, "positions")
    present = layers_of(path, tensors)
    wanted = dict(wanted) if wanted else {layer: None for layer in present}
    all_tokens = min(get(path, tensors, f"layers.{layer}.k").shape[1] for layer in present)
    tokens = all_tokens if tokens is None else tokens
    if not 1 <= tokens <= all_tokens:
        raise BadInput(f"--tokens is {tokens}; {path} has 1 to {all_tokens} to keep")
    queries = choose_queries(path, positions, tokens, query_count)

    result = {"positions": positions[queries]}
    for layer, kv_heads in wanted.items():
        if layer not in present:
            raise BadInput(
                f"{path}: there is no layer {layer}; it has {', '.join(map(str, present))}"
            )
        kv_total = get(path, tensors, f"layers.{layer}.k").shape[0]
        group = get(path, tensors, f"layers.{layer}.q").shape[0] // kv_total
        kv_heads = list(range(kv_total)) if kv_heads is None else kv_heads
        for head in kv_heads:
            if not 0 <= head < kv_total:
                raise BadInput(
                    f"{path}: layer {layer} has KV heads 0 to {kv_total - 1}, not {head}"
                )
        heads = {"kv": kv_heads, "query": [h * group + i for h in kv_heads for i in range(group)]}
        for field, indexed_by in HEADS_OF.items():
            if (name := f"layers.{layer}.{field}") not in tensors:
                continue
            array = tensors[name]
            if indexed_by:
                array = array[heads[indexed_by]]
            if field in ("k", "v"):
                array = array[:, :tokens]
            if field == "q":
                array = array[:, queries]
            result[name] = np.ascontiguousarray(array)

    metadata = (
        metadata | {"format": "tamis-trace", "version": "1", "tokens": str(tokens)} | dict(entries)
    )
    return result, metadata


def write(path, tensors, metadata):
    """Writes under a temporary name first, so that the file appears whole or not at all."""
    temporary = f"{path}.tmp-{os.getpid()}"
    try:
        safetensors.numpy.save_file(tensors, temporary, metadata)
        os.umask(umask := os.umask(0))  # the umask can only be read by setting it
        os.chmod(temporary, 0o666 & ~umask)
        os.replace(temporary, path)
    except (OSError, safetensors.SafetensorError) as error:
        raise BadInput(f"{path}: cannot be written: {error}") from error
    finally:
        if os.path.exists(temporary):
            os.remove(temporary)


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("input", help="a trace")
    parser.add_argument("output", help="the smaller trace to write")
    parser.add_argument("--layer", type=parse_layer, action="append", metavar="L[:H,…]",
                        help="keep layer L, of it KV heads H (default: all layers, all heads); repeatable")  # fmt: skip
    parser.add_argument(
        "--tokens", type=int, metavar="N", help="keep the first N tokens (default: all)"
    )
    parser.add_argument(
        "--queries",
        type=int,
        metavar="N",
        help="keep N of the queries, evenly spread (default: all)",
    )
    parser.add_argument("--set", type=parse_entry, action="append", default=[], metavar="KEY=VALUE",
                        help="set a metadata entry; repeatable")  # fmt: skip
    options = parser.parse_args()
    try:
        if options.queries is not None and options.queries < 1:
            raise BadInput(f"--queries is {options.queries}; at least 1 must be kept")
        if (
            os.path.exists(options.input)
            and os.path.exists(options.output)
            and os.path.samefile(options.input, options.output)
        ):
            raise BadInput(f"{options.output}: is the input itself; give another name")
        tensors, metadata = read(options.input)
        write(options.output, *cut(options.input, tensors, metadata, options.layer, options.tokens,
                                   options.queries, options.set))  # fmt: skip
    except BadInput as error:
        print(f"cut_trace: {error}", file=sys.stderr)
        return 2
    return 0


if __name__ == "__main__":
    sys.exit(main())
