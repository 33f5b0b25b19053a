"""What a user may write, for type checkers; `test_wheel.py` runs it, too."""

import numpy as np
import tamis

cache = tamis.Cache(8, 2, 64, bits=12, dtype="f32")
keys = np.zeros((2, 10, 64), np.float32)
cache.append(keys, keys)
found: tamis.Attention = cache.attend(np.zeros((8, 1, 64), np.float32), ["mass:0.05"] * 8)
out, certificates = found
print(out.shape, certificates["tau"].max(), found.summary()["tau"][0])
tokens: int = cache.tokens()
heads: tamis.Heads = cache.heads
scale: float = heads.scale
try:
    tamis.parse_budget("some")
except tamis.Error as error:
    code: str = error.code
version: str = tamis.__version__
print(tamis.info()["version"] == version)
pattern: tamis.Pattern = tamis.Pattern.from_array(np.eye(3))
verdict: str = tamis.decide(pattern).verdict
dense = tamis.attend(keys, keys, keys, causal=True, out=np.empty_like(keys))
print(dense.lse.shape)
