"""Attention bias tables for the ranking transformer; lengths come from the traffic."""
import functools
import math

import torch
from torch import nn


class AlibiBias(nn.Module):
    def __init__(self, heads: int):
        super().__init__()
        self.heads = heads

    def slopes(self):
        start = 2 ** (-(2 ** -(math.log2(self.heads) - 3)))
        return [start * start ** i for i in range(self.heads)]

    @functools.lru_cache(maxsize=None)
    def table(self, q_len: int, k_len: int, device: str) -> torch.Tensor:
        rel = torch.arange(k_len, device=device)[None, :] - torch.arange(q_len, device=device)[:, None]
        m = torch.tensor(self.slopes(), device=device)
        return m[:, None, None] * rel[None]

    def forward(self, scores: torch.Tensor) -> torch.Tensor:
        q_len, k_len = scores.shape[-2:]
        return scores + self.table(q_len, k_len, str(scores.device))


class RankHead(nn.Module):
    def __init__(self, d: int = 256, heads: int = 8):
        super().__init__()
        self.bias = AlibiBias(heads)
        self.h = heads
        self.q, self.k = nn.Linear(d, d), nn.Linear(d, d)

    def forward(self, query: torch.Tensor, docs: torch.Tensor) -> torch.Tensor:
        b, n, d = docs.shape
        q = self.q(query).view(b, -1, self.h, d // self.h).transpose(1, 2)
        k = self.k(docs).view(b, n, self.h, d // self.h).transpose(1, 2)
        return self.bias(q @ k.transpose(-1, -2)).mean(1)
