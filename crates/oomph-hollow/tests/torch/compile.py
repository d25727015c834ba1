"""torch.compile: inductor writes Triton kernels, Triton compiles them for the card and loads them."""

import torch


@torch.compile
def gelu_and_sum(x, y):
    return (torch.nn.functional.gelu(x) * y + x.sin()).sum(-1)


x = torch.randn(64, 1024, device="cuda", requires_grad=True)
y = torch.randn(64, 1024, device="cuda")
out = gelu_and_sum(x, y)
assert out.shape == (64,)
out.sum().backward()
assert x.grad.shape == x.shape
