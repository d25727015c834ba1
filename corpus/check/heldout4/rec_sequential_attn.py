"""SASRec variant with the library attention layer."""
import torch
from torch import nn


class SASBlock(nn.Module):
    def __init__(self, d: int, heads: int, drop: float):
        super().__init__()
        self.norm1 = nn.LayerNorm(d)
        self.norm2 = nn.LayerNorm(d)
        self.attn = nn.MultiheadAttention(d, heads, dropout=drop, batch_first=True)
        self.ff = nn.Sequential(nn.Linear(d, d), nn.GELU(), nn.Dropout(drop), nn.Linear(d, d))

    def forward(self, x, mask, pad):
        q = self.norm1(x)
        y, _ = self.attn(q, q, q, attn_mask=mask, key_padding_mask=pad)
        x = x + y
        return x + self.ff(self.norm2(x))


class SASRec(nn.Module):
    def __init__(self, n_items: int, max_len: int = 1000, d: int = 256, heads: int = 8, layers: int = 4):
        super().__init__()
        self.items = nn.Embedding(n_items + 1, d, padding_idx=0)
        self.where = nn.Parameter(torch.zeros(1, max_len, d))
        self.blocks = nn.ModuleList(SASBlock(d, heads, 0.2) for _ in range(layers))
        self.register_buffer("mask", torch.ones(max_len, max_len, dtype=torch.bool).triu(1))

    def forward(self, seq):
        b, t = seq.shape
        x = self.items(seq) + self.where[:, :t].repeat(b, 1, 1)
        pad = seq == 0
        for blk in self.blocks:
            x = blk(x, self.mask[:t, :t], pad)
        return x

    def score(self, seq, candidates):
        h = self(seq)[:, -1]
        return torch.einsum("bd,bnd->bn", h, self.items(candidates))
