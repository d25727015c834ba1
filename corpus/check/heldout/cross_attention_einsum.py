import math

import torch
from torch import nn, einsum


class CrossAttention(nn.Module):
    def __init__(self, dim, ctx, heads=8, head=64):
        super().__init__()
        self.heads, self.scale = heads, 1 / math.sqrt(head)
        self.to_q = nn.Linear(dim, heads * head, bias=False)
        self.to_kv = nn.Linear(ctx, 2 * heads * head, bias=False)
        self.out = nn.Linear(heads * head, dim)

    def forward(self, x, context):
        split = lambda t: t.unflatten(-1, (self.heads, -1)).transpose(1, 2)
        q = split(self.to_q(x))
        k, v = map(split, self.to_kv(context).chunk(2, dim=-1))
        sim = einsum("b h i d, b h j d -> b h i j", q, k) * self.scale
        attn = sim.softmax(dim=-1)
        y = einsum("b h i j, b h j d -> b h i d", attn, v)
        return self.out(y.transpose(1, 2).flatten(2))
