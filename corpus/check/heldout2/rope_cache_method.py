from functools import lru_cache

import torch
from torch import nn


class Rotary(nn.Module):
    def __init__(self, dim, base=10000):
        super().__init__()
        self.dim, self.base = dim, base

    @lru_cache(maxsize=None)
    def tables(self, length, device):
        inv = 1.0 / self.base ** (torch.arange(0, self.dim, 2, device=device) / self.dim)
        angle = torch.outer(torch.arange(length, device=device), inv)
        return angle.cos(), angle.sin()

    def forward(self, q):
        cos, sin = self.tables(q.size(-2), q.device)
        a, b = q.chunk(2, dim=-1)
        return torch.cat((a * cos - b * sin, a * sin + b * cos), dim=-1)
