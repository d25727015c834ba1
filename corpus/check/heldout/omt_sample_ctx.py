import torch


class Reparam(torch.autograd.Function):
    """Sample of a Gaussian with a custom gradient."""

    @staticmethod
    def forward(ctx, loc, scale_tril, shape):
        white = loc.new_empty(shape).normal_()
        ctx.z = loc + torch.matmul(white, scale_tril.t())
        ctx.save_for_backward(white, scale_tril)
        return ctx.z

    @staticmethod
    def backward(ctx, grad):
        white, tril = ctx.saved_tensors
        dim = tril.size(0)
        g = grad.reshape(-1, dim)
        w = white.reshape(-1, dim)
        diff = torch.tril(g.t() @ w)
        return grad.sum(0), diff, None


def draw(loc, tril, n):
    return Reparam.apply(loc, tril, torch.Size([n, loc.numel()]))
