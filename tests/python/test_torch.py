"""Tensors of torch, where torch is installed: the bits are those of NumPy's arrays."""

import numpy as np
import pytest
import tamis
from engine_cases import BF16, case, same_bits

torch = pytest.importorskip("torch", reason="torch is not installed")

TYPES = {torch.float32: np.float32, torch.float16: np.float16, torch.bfloat16: BF16}


@pytest.mark.parametrize("dtype", TYPES, ids=str)
@pytest.mark.parametrize("budget", [None, "mass:0.1"])
def test_tensors_in_tensors_out(dtype, budget):
    tensors = [torch.from_numpy(x).to(dtype) for x in case(1, 1500, queries=2)]
    arrays = [x.float().numpy().astype(TYPES[dtype]) for x in tensors]
    expected = tamis.attend(*arrays, budget, certificates=True)
    found = tamis.attend(*tensors, budget, certificates=True)
    assert isinstance(found.out, torch.Tensor) and isinstance(found.lse, torch.Tensor)
    assert found.out.dtype == torch.float32 and isinstance(found.certificates, np.ndarray)
    same_bits(found.out.numpy(), expected.out)
    same_bits(found.lse.numpy(), expected.lse)
    strided = [x.transpose(0, 1) for x in tensors]
    swapped = tamis.attend(*strided, budget, layout="THD")
    same_bits(swapped.out.numpy().swapaxes(0, 1), expected.out)


@pytest.mark.parametrize("dtype", TYPES, ids=str)
def test_outputs_are_written_into_a_tensor(dtype):
    q, k, v = (torch.from_numpy(x) for x in case(2, 1500))
    cache = tamis.Cache(4, 2, 32, 24, dtype="f32")
    cache.append(k, v)
    out = torch.empty(4, 1, 24, dtype=dtype)
    found = cache.attend(q, out=out)
    assert found.out is out
    same_bits(out.float().numpy(), cache.attend(q).out.to(dtype).float().numpy())


def test_tensors_that_cannot_be_read_are_named():
    q, k, v = (torch.from_numpy(x) for x in case(3, 20))
    cases = {
        "q requires a gradient": (q.clone().requires_grad_(), k, v),
        "k holds f64": (q, k.double(), v),
        "v is on the device meta": (q, k, v.to("meta")),
        "k is torch.sparse_coo": (q, k.to_sparse(), v),
    }
    for sentence, tensors in cases.items():
        with pytest.raises(tamis.Error, match=sentence):
            tamis.attend(*tensors)
