import torch


class Exp(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, scale: float):
        y = torch.exp(x * scale)
        ctx.save_for_backward(y)
        ctx.scale = scale
        ctx.shape = x.shape
        return y

    @staticmethod
    def backward(ctx, grad):
        y, = ctx.saved_tensors
        return (grad * y * ctx.scale).view(ctx.shape), None
