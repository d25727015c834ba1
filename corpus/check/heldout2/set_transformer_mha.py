import torch
from torch import nn


class SetBlock(nn.Module):
    def __init__(self, dim, heads):
        super().__init__()
        self.pre = nn.LayerNorm(dim)
        self.attention = nn.MultiheadAttention(dim, heads, batch_first=True)
        self.cross = nn.MultiheadAttention(dim, heads, batch_first=True)
        self.mlp = nn.Sequential(nn.Linear(dim, 4 * dim), nn.GELU(), nn.Linear(4 * dim, dim))

    def forward(self, x, memory, mask=None):
        h = self.pre(x)
        x = x + self.attention(h, h, h, key_padding_mask=mask)[0]
        seen, _weights = self.cross(query=x, key=memory, value=memory)
        x = x + seen
        return x + self.mlp(x)
