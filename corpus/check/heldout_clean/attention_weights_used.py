import torch
from torch import nn


class Pool(nn.Module):
    """Pools a set and returns where it looked."""

    def __init__(self, dim, heads):
        super().__init__()
        self.query = nn.Parameter(torch.zeros(1, 1, dim))
        self.attn = nn.MultiheadAttention(dim, heads, batch_first=True)
        self.self_attn = nn.MultiheadAttention(dim, heads, batch_first=True)

    def forward(self, x):
        y, _ = self.self_attn(x, x, x, need_weights=False)
        x = x + y
        pooled, where = self.attn(self.query.expand(len(x), -1, -1), x, x)
        return pooled.squeeze(1), where.squeeze(1)
