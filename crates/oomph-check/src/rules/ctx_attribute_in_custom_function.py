# --- bad
import torch

class Exp(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        y = x.exp()
        ctx.y = y
        return y

    @staticmethod
    def backward(ctx, grad):
        return grad * ctx.y
# --- good
import torch

class Exp(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        y = x.exp()
        ctx.save_for_backward(y)
        return y

    @staticmethod
    def backward(ctx, grad):
        y, = ctx.saved_tensors
        return grad * y
# --- bad
from torch.autograd import Function

class Attend(Function):
    @staticmethod
    def forward(ctx, q, k, scale):
        ctx.scale = scale
        ctx.weights = torch.softmax(q @ k.mT * scale, -1)
        return ctx.weights
# --- good
from torch.autograd import Function

class Attend(Function):
    @staticmethod
    def forward(ctx, q, k, scale):
        ctx.scale = scale
        weights = torch.softmax(q @ k.mT * scale, -1)
        ctx.save_for_backward(weights)
        return weights
# --- bad
import torch

class Quantise(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, scale):
        result = torch.round(x / scale) * scale
        ctx.cache = (x, result)
        return result

    @staticmethod
    def backward(ctx, grad):
        x, result = ctx.cache
        return grad * ((x - result).abs() < 1), None
# --- good
import torch

class Quantise(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, scale):
        result = torch.round(x / scale) * scale
        ctx.save_for_backward(x, result)
        return result

    @staticmethod
    def backward(ctx, grad):
        x, result = ctx.saved_tensors
        return grad * ((x - result).abs() < 1), None
# --- bad
import torch

class Sigmoid(torch.autograd.Function):
    @staticmethod
    def forward(x):
        return x.sigmoid()

    @staticmethod
    def setup_context(ctx, inputs, output):
        ctx.out = output
# --- good
import torch

class Sigmoid(torch.autograd.Function):
    @staticmethod
    def forward(x):
        return x.sigmoid()

    @staticmethod
    def setup_context(ctx, inputs, output):
        ctx.save_for_backward(output)
# --- bad
import torch

class Exp(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        ctx.kept = []
        y = x.exp()
        ctx.kept.append(y)
        return y
# --- good
import torch

class Exp(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        y = x.exp()
        ctx.save_for_backward(y)
        return y
# --- bad
import torch

class Split(torch.autograd.Function):
    @staticmethod
    def setup_context(ctx, inputs, output):
        x, = inputs
        low, high = output
        ctx.pair = [x, low]
# --- good
import torch

class Split(torch.autograd.Function):
    @staticmethod
    def setup_context(ctx, inputs, output):
        x, = inputs
        low, high = output
        ctx.save_for_backward(x, low)
# --- silent
import torch

class Count(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        counts = (x > 0).sum(-1)
        ctx.for_backward = (counts, x.shape)
        ctx.mark_non_differentiable(counts)
        return x * 2, counts

    @staticmethod
    def backward(ctx, grad, _):
        return grad * 2
# --- silent
import torch

class Invertible(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        y = x.exp()
        ctx.outputs = [y]
        return y

    @staticmethod
    def backward(ctx, grad):
        y = ctx.outputs.pop()
        return grad * y
# --- silent
import torch

class Pad(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, width):
        ctx.width = width
        ctx.shape = x.shape
        ctx.needs = x.requires_grad
        return torch.nn.functional.pad(x, (width, width))
# --- silent
import torch

class Route(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        index = x.argmax(-1)
        ctx.index = index
        ctx.mark_non_differentiable(index)
        return index
# --- silent
import torch

class Exp(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        y = x.exp()
        ctx.y = y.detach()
        return y
# --- silent
import torch

class Tracker:
    @staticmethod
    def forward(ctx, x):
        ctx.y = x
        return x
