import torch
from torch import nn
from torch.utils.checkpoint import checkpoint


class Slim(nn.Module):
    """Trade compute for memory: recompute the encoder in the backward pass."""

    def __init__(self, vit, dim, out):
        super().__init__()
        self.vit = vit
        self.proj = nn.Linear(dim, out)

    def forward(self, x):
        z = checkpoint(self.vit, x, use_reentrant=False)
        return self.proj(z)


class ShiftedGelu(nn.Module):
    def __init__(self, exact=True):
        super().__init__()
        self.shift = nn.Parameter(torch.zeros(1))
        self.fn = self._exact if exact else self._fast

    def _exact(self, x):
        return nn.functional.gelu(x + self.shift)

    def _fast(self, x):
        return nn.functional.gelu(x + self.shift, approximate="tanh")

    def forward(self, x):
        return self.fn(x)
