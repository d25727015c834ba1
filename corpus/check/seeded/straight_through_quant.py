import torch as th


class RoundQuant(th.autograd.Function):
    @staticmethod
    def forward(ctx, x, scale, bits):
        q = th.clamp(th.round(x / scale), -(2 ** (bits - 1)), 2 ** (bits - 1) - 1)
        res = q * scale
        ctx.bits = bits
        ctx.cache = (x, res)
        return res

    @staticmethod
    def backward(ctx, grad):
        x, res = ctx.cache
        inside = (x - res).abs() < 1.0
        return grad * inside, None, None


def fake_quant(t, scale, bits=8):
    return RoundQuant.apply(t, scale, bits)
