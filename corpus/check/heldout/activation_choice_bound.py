import torch
from torch import nn


class FeedForward(nn.Module):
    def __init__(self, dim, kind="geglu"):
        super().__init__()
        self.up = nn.Linear(dim, 8 * dim)
        self.down = nn.Linear(4 * dim, dim)
        if kind == "geglu":
            self.gate = self._geglu
        else:
            self.gate = self._swiglu

    def _geglu(self, a, b):
        return nn.functional.gelu(a) * b

    def _swiglu(self, a, b):
        return nn.functional.silu(a) * b

    def forward(self, x):
        return self.down(self.gate(*self.up(x).chunk(2, dim=-1)))
