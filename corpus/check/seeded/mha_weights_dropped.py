import torch
import torch.nn as nn


class EncoderLayer(nn.Module):
    def __init__(self, d=256, heads=8):
        super().__init__()
        self.self_attn = nn.MultiheadAttention(d, heads, batch_first=True)
        self.ff = nn.Sequential(nn.Linear(d, 4 * d), nn.GELU(), nn.Linear(4 * d, d))
        self.n1, self.n2 = nn.LayerNorm(d), nn.LayerNorm(d)

    def forward(self, src, pos):
        q = k = src + pos
        src2, _ = self.self_attn(q, k, value=src)
        src = self.n1(src + src2)
        return self.n2(src + self.ff(src))
