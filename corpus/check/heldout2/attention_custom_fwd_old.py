import torch
from torch.autograd import Function


class ScaledSwish(Function):
    @staticmethod
    @torch.cuda.amp.custom_fwd(cast_inputs=torch.float32)
    def forward(ctx, x, beta):
        s = torch.sigmoid(beta * x)
        out = x * s
        ctx.save_for_backward(x, s)
        ctx.beta = beta
        ctx.result = out
        return out

    @staticmethod
    @torch.cuda.amp.custom_bwd
    def backward(ctx, grad):
        x, s = ctx.saved_tensors
        return grad * (s + ctx.beta * ctx.result * (1 - s)), None


def swish(x, beta=1.0):
    return ScaledSwish.apply(x, beta)
