import torch
from torch.autograd import Function


class GatedScan(Function):
    @staticmethod
    def forward(ctx, u, f):
        c = torch.empty_like(u)
        prev = u.new_zeros(u.shape[1:])
        for t in range(u.size(0)):
            prev = f[t] * prev + (1 - f[t]) * u[t]
            c[t] = prev
        ctx.save_for_backward(u, f)
        ctx.states = c
        return c

    @staticmethod
    def backward(ctx, grad):
        u, f = ctx.saved_tensors
        c = ctx.states
        gu, gf = torch.zeros_like(u), torch.zeros_like(f)
        carry = torch.zeros_like(grad[0])
        for t in reversed(range(u.size(0))):
            carry = carry + grad[t]
            before = c[t - 1] if t else torch.zeros_like(c[0])
            gu[t] = carry * (1 - f[t])
            gf[t] = carry * (before - u[t])
            carry = carry * f[t]
        return gu, gf
