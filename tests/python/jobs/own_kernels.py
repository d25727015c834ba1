"""A Triton kernel that tunes itself, an autograd function, torch.func, and every kind of optimizer."""

import torch
import triton
import triton.language as tl
from torch.func import functional_call, grad, jacrev, vmap


@triton.autotune(configs=[triton.Config({"BLOCK": 256}), triton.Config({"BLOCK": 512})], key=["n"])
@triton.jit
def add_kernel(x, y, out, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    inside = at < n
    tl.store(out + at, tl.load(x + at, mask=inside) + tl.load(y + at, mask=inside), mask=inside)


def add(x, y):
    out = torch.empty_like(x)
    add_kernel[lambda meta: (triton.cdiv(x.numel(), meta["BLOCK"]),)](x, y, out, x.numel())
    return out


class Product(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, weight):
        ctx.save_for_backward(x, weight)
        return x @ weight

    @staticmethod
    def backward(ctx, gradient):
        x, weight = ctx.saved_tensors
        return gradient @ weight.t(), x.t() @ gradient


net = torch.nn.Linear(16, 1).cuda()
weights = {name: weight.detach() for name, weight in net.named_parameters()}
samples = torch.randn(64, 16, device="cuda")
each = vmap(grad(lambda weights, x: functional_call(net, weights, (x[None],)).sum()), in_dims=(None, 0))(weights, samples)
assert each["weight"].shape == (64, 1, 16) and vmap(jacrev(net))(samples).shape == (64, 1, 16)

weight = torch.nn.Parameter(torch.randn(128, 128, device="cuda"))
for make in (
    lambda p: torch.optim.Adafactor(p),
    lambda p: torch.optim.SGD(p, 0.1, momentum=0.9, fused=True),
    lambda p: torch.optim.AdamW(p, capturable=True),
    lambda p: torch.optim.Adam(p, foreach=True, amsgrad=True),
    lambda p: torch.optim.RMSprop(p),
    lambda p: torch.optim.LBFGS(p),
):
    optimizer = make([weight])

    def closure():
        optimizer.zero_grad()
        x = torch.randn(64, 128, device="cuda")
        loss = add(Product.apply(x, weight).detach(), x).sum() + Product.apply(x, weight).square().mean()
        loss.backward()
        return loss

    optimizer.step(closure)
