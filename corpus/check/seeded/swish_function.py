import torch
from torch.autograd import Function


class SwishOp(Function):
    @staticmethod
    def forward(ctx, x):
        s = torch.sigmoid(x)
        y = x * s
        ctx.out = y
        ctx.save_for_backward(x, s)
        return y

    @staticmethod
    def backward(ctx, g):
        x, s = ctx.saved_tensors
        return g * (s + ctx.out * (1 - s))


swish = SwishOp.apply
