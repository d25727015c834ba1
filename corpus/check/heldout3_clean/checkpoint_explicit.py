from functools import partial

import torch.nn as nn
from torch.utils.checkpoint import checkpoint

remat = partial(checkpoint, use_reentrant=False)


class Block(nn.Module):
    def __init__(self, dim, heads):
        super().__init__()
        self.n1, self.n2 = nn.LayerNorm(dim), nn.LayerNorm(dim)
        self.attn = nn.MultiheadAttention(dim, heads, batch_first=True)
        self.mlp = nn.Sequential(nn.Linear(dim, 4 * dim), nn.GELU(), nn.Linear(4 * dim, dim))

    def forward(self, x):
        h = self.n1(x)
        y, _ = self.attn(h, h, h, need_weights=False)
        x = x + y
        return x + self.mlp(self.n2(x))


class Encoder(nn.Module):
    def __init__(self, dim=1024, heads=16, depth=24):
        super().__init__()
        self.blocks = nn.ModuleList(Block(dim, heads) for _ in range(depth))

    def forward(self, x):
        for i, b in enumerate(self.blocks):
            if self.training and i % 2 == 0:
                x = remat(b, x)
            else:
                x = b(x)
        return x
