import torch
from torch.autograd import Function


class Scale(Function):
    @staticmethod
    def forward(ctx, x, factor, axis):
        ctx.factor = factor
        ctx.axis = axis
        ctx.shape = x.shape
        y = x * factor
        ctx.save_for_backward(y)
        return y

    @staticmethod
    def backward(ctx, g):
        (y,) = ctx.saved_tensors
        return g.reshape(ctx.shape) * ctx.factor + 0 * y, None, None
