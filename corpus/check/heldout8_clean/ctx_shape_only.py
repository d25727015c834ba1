import torch


class Pad(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, n):
        ctx.length = x.shape[-1]
        return torch.nn.functional.pad(x, (0, n))

    @staticmethod
    def backward(ctx, g):
        return g[..., :ctx.length], None
