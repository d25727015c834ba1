import torch
from torch.autograd import Function


class Whiten(Function):
    @staticmethod
    def forward(ctx, x, eps):
        mu = x.mean(0, keepdim=True)
        inv = (x.var(0, unbiased=False, keepdim=True) + eps).rsqrt()
        y = (x - mu) * inv
        ctx.normed = y
        ctx.save_for_backward(inv)
        return y

    @staticmethod
    def backward(ctx, g):
        inv, = ctx.saved_tensors
        y = ctx.normed
        return inv * (g - g.mean(0) - y * (g * y).mean(0)), None


class WhitenLayer(torch.nn.Module):
    def __init__(self, eps=1e-5):
        super().__init__()
        self.eps = eps

    def forward(self, x):
        return Whiten.apply(x, self.eps)
