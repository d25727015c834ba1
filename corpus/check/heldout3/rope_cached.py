"""Decoder block with rotary embeddings. Masks and tables are memoised per length."""
import math
from functools import lru_cache

import torch
import torch.nn as nn


@lru_cache(maxsize=None)
def rotary_table(length: int, dim: int, device: str):
    inv = 1.0 / (10000 ** (torch.arange(0, dim, 2, device=device) / dim))
    ang = torch.outer(torch.arange(length, device=device).float(), inv)
    return ang.cos(), ang.sin()


class Attention(nn.Module):
    def __init__(self, dim, heads):
        super().__init__()
        self.h, self.d = heads, dim // heads
        self.qkv = nn.Linear(dim, 3 * dim, bias=False)
        self.proj = nn.Linear(dim, dim, bias=False)

    @lru_cache(512)
    def causal(self, n, device):
        return torch.full((n, n), float("-inf"), device=device).triu(1)

    def rotate(self, x):
        cos, sin = rotary_table(x.size(-2), self.d, str(x.device))
        a, b = x[..., ::2], x[..., 1::2]
        return torch.stack((a * cos - b * sin, a * sin + b * cos), -1).flatten(-2)

    def forward(self, x):
        B, T, C = x.shape
        q, k, v = (t.view(B, T, self.h, self.d).transpose(1, 2) for t in self.qkv(x).chunk(3, -1))
        q, k = self.rotate(q), self.rotate(k)
        att = torch.einsum("bhid,bhjd->bhij", q, k) * (1 / math.sqrt(self.d))
        att = torch.softmax(att + self.causal(T, x.device), -1)
        y = torch.einsum("bhij,bhjd->bhid", att, v)
        return self.proj(y.transpose(1, 2).reshape(B, T, C))
