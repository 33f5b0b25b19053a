"""Keys, values and queries for the sieve's benchmark: three families, all synthetic and
reproducible.

real-like   Made from the trace in data/, whose three layers hold one KV head with three query
            heads of size 64 each. A KV head keeps the trace's first run of 128 tokens (its
            attention sinks) and its last run (which is near the queries) in place; between them
            lie runs of 128 contiguous tokens whose starts are drawn uniformly from the rest of
            the trace, anew for every KV head. Head size 128 joins two layers channel-wise: q·k
            is then the sum of their products, and the scale 1/√128. Groups larger than three
            take the same heads' queries from the trace's preceding positions. Steps are the
            trace's last 16 queries (positions 8161, 8163 … 8191), in order. A context longer
            than the trace repeats what the trace holds, so that the number of keys that matter
            grows in proportion to n. This is pessimistic for heads where it grows more slowly
            in real text.
law         The keys and values of real-like. Each query is multiplied by a number of its own,
            such that the number of keys that hold 95 % of its weight follows the law k(n) =
            k(8192)·(n/8192)^C. C = 0.61 is the median over heads that `tamis profile` measured
            on the trace from which data/ was cut; k(8192) is that of the same query at n =
            8192, where both families agree. Longer queries make every bound from codes wider in
            proportion, so that sparser attention is not always easier.
gaussian    Keys and values are i.i.d. N(0, 1), queries i.i.d. N(0, σ²), so that logits have
            standard deviation σ and no structure. At σ = 1 attention is nearly uniform; at σ =
            3 few keys matter, but these are unstructured.

All numbers are rounded until f32, f16 and bf16 hold them exactly. Random streams are NumPy's
Philox, keyed by a seed and, except for gaussian data, the KV head. Costs about a second per 100
MB, for the law about ten.
"""

import json
from dataclasses import dataclass
from pathlib import Path

import memory
import numpy as np

TRACE = Path(__file__).resolve().parent.parent / "data/smollm2-kjv-8k-small.safetensors"
LAYERS = (3, 12, 21)
TRACE_DIM = 64
TRACE_LENGTH = 8192
RUN = 128  # tokens
STEPS = 16
LAW = 0.61  # exponent C
TAIL = 0.05
SEED = 4


@dataclass(frozen=True)
class Shape:
    heads: int
    kv_heads: int
    d: int

    @property
    def scale(self):
        return self.d**-0.5

    @property
    def group(self):
        return self.heads // self.kv_heads

    def __str__(self):
        return f"{self.heads} query heads, {self.kv_heads} KV heads, d = {self.d}"


@dataclass
class Inputs:
    """q [steps, heads, 1, d] in f32 and, for each dtype, k and v [kv_heads, n, d]."""

    q: np.ndarray
    kv: dict


def description():
    """Returns the docstring of this module as Markdown."""
    return f"```\n{__doc__.strip()}\n```"


def read_safetensors(path):
    with open(path, "rb") as file:
        header = json.loads(file.read(int.from_bytes(file.read(8), "little")))
        data = file.read()
    header.pop("__metadata__", None)
    kinds = {"F16": "<f2", "I64": "<i8"}
    return {
        name: np.frombuffer(data[slice(*about["data_offsets"])], kinds[about["dtype"]]).reshape(
            about["shape"]
        )
        for name, about in header.items()
    }


def shorten(x):
    """Returns x rounded to bf16 and then to f16, which has fewer exponents, so that both hold it
    exactly."""
    bits = np.asarray(x, np.float32).view(np.uint32)
    bits = (bits + 0x7FFF + ((bits >> 16) & 1)) & np.uint32(0xFFFF0000)
    return bits.view(np.float32).astype(np.float16).astype(np.float32)


def every_dtype(k, v):
    return {
        "f32": (k, v),
        "bf16": (memory.to_bf16(k), memory.to_bf16(v)),
        "f16": (memory.to_f16(k), memory.to_f16(v)),
    }


def stream(h):
    return np.random.Generator(np.random.Philox(key=[SEED, h]))


def chosen_tokens(rng, n, length):
    """Returns which token of the trace stands at each of n places."""
    first, last = np.arange(RUN), np.arange(length - RUN, length)
    runs = -(-max(0, n - 2 * RUN) // RUN)
    starts = rng.integers(RUN, length - 2 * RUN, size=runs, endpoint=True)
    middle = (starts[:, None] + np.arange(RUN)).ravel()[: n - 2 * RUN]
    return np.concatenate([first, middle, last])


def real_like(shape, n):
    if n < 2 * RUN:
        raise ValueError(f"real-like data needs at least {2 * RUN} keys, not {n}")
    trace = read_safetensors(TRACE)
    length = trace.pop("positions")[-1] + 1
    trace = {name: shorten(x) for name, x in trace.items()}
    parts, rest = divmod(shape.d, TRACE_DIM)
    if rest != 0 or not 1 <= parts <= len(LAYERS):
        raise ValueError(f"real-like heads have a size of 64, 128 or 192, not {shape.d}")
    q = np.empty((STEPS, shape.heads, 1, shape.d), np.float32)
    k, v = (memory.allocate((shape.kv_heads, n, shape.d), np.float32) for _ in range(2))
    for h in range(shape.kv_heads):
        tokens = chosen_tokens(stream(h), n, length)
        for part in range(parts):
            layer = f"layers.{LAYERS[(h + part) % len(LAYERS)]}"
            channels = slice(part * TRACE_DIM, (part + 1) * TRACE_DIM)
            k[h, :, channels] = trace[f"{layer}.k"][0, tokens]
            v[h, :, channels] = trace[f"{layer}.v"][0, tokens]
            queries = trace[f"{layer}.q"]
            for g in range(shape.group):
                back, head = divmod(g, len(queries))  # `back` queries earlier
                end = queries.shape[1] - back
                q[:, h * shape.group + g, 0, channels] = queries[head, end - STEPS : end]
    return Inputs(q, every_dtype(k, v))


def falling_logits(shape, n, inputs):
    """Yields, for every step and query head, the logits of its query in natural units, largest
    first."""
    k = inputs.kv["f32"][0]
    for step in range(STEPS):
        for h in range(shape.heads):
            logits = k[h // shape.group] @ (inputs.q[step, h, 0] * np.float32(shape.scale))
            yield step, h, np.sort(logits)[::-1].astype(np.float64)


def keys_needed(logits, factor=1.0):
    """Returns how many keys hold all but TAIL of the weight, with the query multiplied by a
    factor."""
    held = np.cumsum(np.exp(factor * (logits - logits[0])))
    return 1 + int(np.searchsorted(held, (1 - TAIL) * held[-1]))


def law(shape, n):
    inputs = real_like(shape, n)
    if n == TRACE_LENGTH:
        return inputs
    short = real_like(shape, TRACE_LENGTH)
    before = [keys_needed(x) for _, _, x in falling_logits(shape, TRACE_LENGTH, short)]
    q = np.empty_like(inputs.q)
    for (step, h, logits), k in zip(falling_logits(shape, n, inputs), before, strict=True):
        wanted = k * (n / TRACE_LENGTH) ** LAW
        least, most = 0.125, 8.0  # range of the factor; a larger one needs fewer keys
        for _ in range(12):
            middle = (least * most) ** 0.5
            least, most = (
                (middle, most) if keys_needed(logits, middle) > wanted else (least, middle)
            )
        q[step, h] = shorten(inputs.q[step, h] * np.float32(middle))
    return Inputs(q, inputs.kv)


def gaussian(shape, n, sigma):
    rng = stream(0)
    q = memory.normal(
        rng, (STEPS, shape.heads, 1, shape.d), steps_per_sigma=16 * sigma, sigma=sigma
    )
    k, v = (memory.normal(rng, (shape.kv_heads, n, shape.d), steps_per_sigma=64) for _ in range(2))
    return Inputs(q, every_dtype(k, v))


FAMILIES = {
    "real-like": real_like,
    "law": law,
    "gaussian σ = 1": lambda shape, n: gaussian(shape, n, 1),
    "gaussian σ = 3": lambda shape, n: gaussian(shape, n, 3),
}
WORST_CASES = [name for name in FAMILIES if name.startswith("gaussian")]
