import torch
from torch import nn


class RoundSTE(torch.autograd.Function):
    @staticmethod
    def forward(context, weight, scale, bits):
        q = torch.clamp(torch.round(weight / scale), -(2 ** (bits - 1)), 2 ** (bits - 1) - 1)
        dequantized = q * scale
        context.bits = bits
        context.cache = (weight, dequantized)
        return dequantized

    @staticmethod
    def backward(context, grad):
        weight, deq = context.cache
        inside = (weight - deq).abs() < 1
        return grad * inside, None, None


class QLinear(nn.Linear):
    def forward(self, x):
        w = RoundSTE.apply(self.weight, self.weight.abs().max() / 127, 8)
        return nn.functional.linear(x, w, self.bias)
