import math
from dataclasses import dataclass

import torch
from torch import nn


@dataclass
class FTConfig:
    n_num: int
    cardinalities: tuple
    d: int = 192
    heads: int = 8
    layers: int = 3


class RowAttention(nn.Module):
    """Attention over the rows of the context set (the SAINT idea)."""

    def __init__(self, d, heads):
        super().__init__()
        self.h = heads
        self.qkv = nn.Linear(d, 3 * d)
        self.proj = nn.Linear(d, d)

    def forward(self, x):
        n, d = x.shape[-2:]
        q, k, v = self.qkv(x).chunk(3, dim=-1)
        q, k, v = (t.reshape(*t.shape[:-1], self.h, d // self.h).transpose(-3, -2) for t in (q, k, v))
        logits = torch.matmul(q, k.transpose(-1, -2)) / math.sqrt(d // self.h)
        w = logits.softmax(dim=-1)
        ctx = torch.matmul(w, v).transpose(-3, -2)
        return self.proj(ctx.reshape(*ctx.shape[:-2], d))


class FTTransformer(nn.Module):
    def __init__(self, cfg: FTConfig):
        super().__init__()
        self.num_w = nn.Parameter(torch.randn(cfg.n_num, cfg.d) * 0.02)
        self.cats = nn.ModuleList(nn.Embedding(c, cfg.d) for c in cfg.cardinalities)
        self.mha = nn.ModuleList(nn.MultiheadAttention(cfg.d, cfg.heads, batch_first=True) for _ in range(cfg.layers))
        self.rows = RowAttention(cfg.d, cfg.heads)
        self.out = nn.Linear(cfg.d, 1)

    def forward(self, num, cat):
        tok = [num.unsqueeze(-1) * self.num_w]
        tok += [e(cat[:, i]).unsqueeze(1) for i, e in enumerate(self.cats)]
        x = torch.cat(tok, 1)
        for att in self.mha:
            y, _ = att(x, x, x)
            x = x + y
        return self.out(self.rows(x.mean(1))).squeeze(-1)
