import torch
from torch import nn


class EncoderLayer(nn.Module):
    def __init__(self, d=256, heads=8):
        super().__init__()
        self.self_attn = nn.MultiheadAttention(d, heads, batch_first=True)
        self.ffn = nn.Sequential(nn.Linear(d, 1024), nn.ReLU(), nn.Linear(1024, d))
        self.n1, self.n2 = nn.LayerNorm(d), nn.LayerNorm(d)

    def forward(self, src, pos=None, src_mask=None):
        q = k = src if pos is None else src + pos
        y, _ = self.self_attn(q, k, value=src, attn_mask=src_mask)
        src = self.n1(src + y)
        return self.n2(src + self.ffn(src))
