"""libtamis_probe.so: what cannot be timed through the C ABI from Python."""

import ctypes
from ctypes import POINTER, c_char_p, c_double, c_float, c_int, c_int64, c_void_p

import numpy as np
from tamis_c import address


class StageCost(ctypes.Structure):
    """StageCost of bench/stages.cpp."""

    _fields_ = [(name, c_double) for name in ("seconds", "bytes", "integer", "floating")]


class Probe:
    def __init__(self, path):
        self.c = c = ctypes.CDLL(str(path))
        c.probe_append.argtypes = [c_int64] * 4 + [c_int, c_void_p, c_void_p, POINTER(c_double)]
        c.probe_stage_name.restype = c_char_p
        c.probe_stages_new.restype = c_void_p
        c.probe_stages_new.argtypes = [c_int64] * 4 + [c_float, c_int, c_void_p, c_void_p, c_char_p]
        c.probe_stages_step.argtypes = [c_void_p, c_void_p, POINTER(StageCost)]
        c.probe_stages_free.argtypes = [c_void_p]
        self.stages = [c.probe_stage_name(i).decode() for i in range(c.probe_stage_count())]

    def append(self, k, v, appended, threads):
        """Seconds of extending an index over k and v after each of the last `appended` tokens: of all
        calls, and of the longest."""
        seconds = (c_double * 2)()
        if self.c.probe_append(*k.shape, appended, threads, address(k), address(v), seconds) != 0:
            raise RuntimeError("the probe could not build an index")
        return tuple(seconds)


class Step:
    """A decode step taken apart, over k and v [kv_heads, n, d] in bf16. `run` leaves the seconds, bytes and
    multiply-adds of each stage in `costs`, `record` keeps them."""

    def __init__(self, probe, shape, k, v, budget, threads):
        self.c, self.keep = probe.c, (k, v)
        self.costs = (StageCost * len(probe.stages))()
        self.recorded = []
        self.handle = probe.c.probe_stages_new(
            shape.heads, *k.shape, shape.scale, threads, address(k), address(v), budget.encode()
        )
        if not self.handle:
            raise RuntimeError("the probe could not build an index")

    def set_q(self, q):
        self.q = q

    def run(self):
        if self.c.probe_stages_step(self.handle, address(self.q), self.costs) != 0:
            raise RuntimeError("the probe could not attend")

    def record(self):
        self.recorded.append(np.ctypeslib.as_array(self.costs).copy())

    def __del__(self):
        if getattr(self, "handle", None):
            self.c.probe_stages_free(self.handle)
