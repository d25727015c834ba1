import functools

import torch
from torch import nn
import torch.nn.functional as F


@functools.lru_cache(maxsize=None)
def rotary(length, dim, device, base=10_000):
    inv = base ** (-torch.arange(0, dim, 2, device=device) / dim)
    t = torch.arange(length, device=device)
    f = torch.outer(t, inv)
    return f.cos(), f.sin()


def rotate(x, cos, sin):
    a, b = x.chunk(2, -1)
    return torch.cat([a * cos - b * sin, a * sin + b * cos], -1)


class SelfAttention(nn.Module):
    def __init__(self, dim, heads):
        super().__init__()
        self.heads = heads
        self.qkv = nn.Linear(dim, 3 * dim)

    def forward(self, x):
        q, k, v = self.qkv(x).unflatten(-1, (3, self.heads, -1)).permute(2, 0, 3, 1, 4)
        cos, sin = rotary(x.size(1), q.size(-1), x.device)
        return F.scaled_dot_product_attention(rotate(q, cos, sin), rotate(k, cos, sin), v, is_causal=True)
