"""Transformer encoder for protein sequences; attention maps are looked at in the notebook."""
import math

import torch
import torch.nn as nn
import torch.nn.functional as F


class SelfAttention(nn.Module):
    def __init__(self, dim: int, heads: int):
        super().__init__()
        self.heads = heads
        self.qkv = nn.Linear(dim, dim * 3)
        self.out = nn.Linear(dim, dim)
        self.last_attention = None

    def forward(self, x, pad_mask=None):
        b, t, d = x.shape
        q, k, v = self.qkv(x).view(b, t, 3, self.heads, d // self.heads).permute(2, 0, 3, 1, 4)
        scores = q @ k.transpose(-1, -2) / math.sqrt(d // self.heads)
        if pad_mask is not None:
            scores = scores.masked_fill(pad_mask[:, None, None, :], float("-inf"))
        weights = scores.softmax(dim=-1)
        self.last_attention = weights
        y = (weights @ v).transpose(1, 2).reshape(b, t, d)
        return self.out(y)


class Block(nn.Module):
    def __init__(self, dim, heads, mult=4, drop=0.1):
        super().__init__()
        self.attn = SelfAttention(dim, heads)
        self.n1, self.n2 = nn.LayerNorm(dim), nn.LayerNorm(dim)
        self.mlp = nn.Sequential(nn.Linear(dim, dim * mult), nn.GELU(), nn.Linear(dim * mult, dim))
        self.drop = nn.Dropout(drop)

    def forward(self, x, pad_mask=None):
        x = x + self.drop(self.attn(self.n1(x), pad_mask))
        return x + self.drop(self.mlp(self.n2(x)))


class ProteinEncoder(nn.Module):
    def __init__(self, vocab=26, dim=768, depth=12, heads=12):
        super().__init__()
        self.emb = nn.Embedding(vocab, dim, padding_idx=0)
        self.blocks = nn.ModuleList(Block(dim, heads) for _ in range(depth))
        self.head = nn.Linear(dim, vocab)

    def forward(self, ids):
        mask = ids == 0
        x = self.emb(ids)
        for blk in self.blocks:
            x = blk(x, mask)
        return self.head(x)


def mlm_step(model, ids, labels, opt):
    loss = F.cross_entropy(model(ids).flatten(0, 1), labels.flatten(), ignore_index=-100)
    opt.zero_grad()
    loss.backward()
    opt.step()
    return loss.item()
