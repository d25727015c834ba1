import torch
import torch.nn as nn


class _RevFn(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, f, g, coords):
        a, b = x.chunk(2, dim=1)
        with torch.no_grad():
            y1 = a + f(b)
            y2 = b + g(y1)
        y = torch.cat([y1, y2], dim=1)
        ctx.f, ctx.g = f, g
        ctx.y = y
        return y

    @staticmethod
    def backward(ctx, dy):
        y1, y2 = ctx.y.chunk(2, dim=1)
        with torch.enable_grad():
            b = y2 - ctx.g(y1)
            a = y1 - ctx.f(b)
        return torch.cat([a, b], 1) * dy, None, None, None


class RevBlock(nn.Module):
    def __init__(self, f, g):
        super().__init__()
        self.f, self.g = f, g

    def forward(self, x):
        return _RevFn.apply(x, self.f, self.g, None)
