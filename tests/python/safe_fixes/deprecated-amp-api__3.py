"""A function with a backward of its own, decorated in both ways."""

import torch
from torch.cuda.amp import custom_bwd, custom_fwd


class Double(torch.autograd.Function):
    @staticmethod
    @custom_fwd(cast_inputs=torch.float32)
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x * 2

    @staticmethod
    @custom_bwd
    def backward(ctx, grad):
        (x,) = ctx.saved_tensors
        return grad * 2 + 0 * x


class Triple(torch.autograd.Function):
    @staticmethod
    @custom_fwd
    def forward(ctx, x):
        return x * 3

    @staticmethod
    @custom_bwd
    def backward(ctx, grad):
        return grad * 3


torch.manual_seed(0)
x = torch.randn(4, requires_grad=True)
loss = Triple.apply(Double.apply(x)).pow(2).sum()
loss.backward()
print(f"{loss.item():.6f}", [f"{g:.5f}" for g in x.grad.tolist()])
