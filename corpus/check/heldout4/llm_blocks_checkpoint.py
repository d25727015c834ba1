"""GPT with activation checkpointing so that 8k context fits."""
from dataclasses import dataclass

import torch
import torch.nn as nn
import torch.nn.functional as F
import torch.utils.checkpoint as cp


@dataclass
class GPTConfig:
    vocab: int = 50304
    width: int = 2048
    heads: int = 16
    depth: int = 24
    context: int = 8192
    remat: bool = True


class Layer(nn.Module):
    def __init__(self, c: GPTConfig):
        super().__init__()
        self.heads = c.heads
        self.ln1, self.ln2 = nn.LayerNorm(c.width), nn.LayerNorm(c.width)
        self.qkv, self.proj = nn.Linear(c.width, 3 * c.width), nn.Linear(c.width, c.width)
        self.mlp = nn.Sequential(nn.Linear(c.width, 4 * c.width), nn.GELU(), nn.Linear(4 * c.width, c.width))

    def forward(self, x):
        b, t, d = x.shape
        q, k, v = self.qkv(self.ln1(x)).view(b, t, 3, self.heads, -1).permute(2, 0, 3, 1, 4)
        a = F.scaled_dot_product_attention(q, k, v, is_causal=True)
        x = x + self.proj(a.transpose(1, 2).reshape(b, t, d))
        return x + self.mlp(self.ln2(x))


class GPT(nn.Module):
    def __init__(self, c: GPTConfig):
        super().__init__()
        self.c = c
        self.tok, self.pos = nn.Embedding(c.vocab, c.width), nn.Embedding(c.context, c.width)
        self.layers = nn.ModuleList(Layer(c) for _ in range(c.depth))
        self.head = nn.Linear(c.width, c.vocab, bias=False)

    def forward(self, ids, targets):
        x = self.tok(ids) + self.pos(torch.arange(ids.size(1), device=ids.device))
        for layer in self.layers:
            x = cp.checkpoint(layer, x) if self.c.remat else layer(x)
        return F.cross_entropy(self.head(x).flatten(0, 1), targets.flatten())
