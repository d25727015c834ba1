"""torch.compile: inductor writes Triton kernels, Triton compiles them for the card and loads them."""

import torch
from torch._inductor.utils import run_and_get_code


@torch.compile
def gelu_and_sum(x, y):
    return (torch.nn.functional.gelu(x) * y + x.sin()).sum(-1)


x = torch.randn(64, 1024, device="cuda", requires_grad=True)
y = torch.randn(64, 1024, device="cuda")
out = gelu_and_sum(x, y)
assert out.shape == (64,)
out.sum().backward()
assert x.grad.shape == x.shape

# Inductor times a product as it is and with padded operands, and takes the faster one. Rows of an odd length keep tensor
# cores waiting, so that a card pads them; units of single precision do not mind.
plain, biased = torch.compile(lambda x, weight, bias: x @ weight), torch.compile(lambda x, weight, bias: torch.addmm(bias, x, weight))
for product, dtype, words, is_padded in (
    (plain, torch.bfloat16, 4097, True),
    (biased, torch.bfloat16, 4097, True),
    (plain, torch.bfloat16, 4104, False),
    (plain, torch.float32, 4097, False),
):
    torch._dynamo.reset()
    x, weight, bias = (torch.randn(*shape, device="cuda", dtype=dtype) for shape in ((4096, 1024), (1024, words), (words,)))
    _, (code,) = run_and_get_code(product, x, weight, bias)
    assert ("4104" in code) == (is_padded or words == 4104), f"{dtype} {words}\n{code}"
