from typing import Optional

import torch
import torch.nn as nn
import torch.utils.checkpoint as cp


class Layer(nn.Module):
    def __init__(self, d: int, h: int):
        super().__init__()
        self.sa = nn.MultiheadAttention(d, h, batch_first=True)
        self.ff = nn.Sequential(nn.Linear(d, 4 * d), nn.GELU(), nn.Linear(4 * d, d))
        self.n1, self.n2 = nn.LayerNorm(d), nn.LayerNorm(d)

    def forward(self, x: torch.Tensor, pad: Optional[torch.Tensor] = None):
        a, _ = self.sa(x, x, x, key_padding_mask=pad, need_weights=False)
        x = self.n1(x + a)
        return self.n2(x + self.ff(x))


class Encoder(nn.Module):
    def __init__(self, d=1024, h=16, depth=24, use_ckpt=True):
        super().__init__()
        self.layers = nn.ModuleList([Layer(d, h) for _ in range(depth)])
        self.use_ckpt = use_ckpt

    def forward(self, x, pad=None):
        for layer in self.layers:
            if self.use_ckpt and self.training:
                x = cp.checkpoint(layer, x, pad)
            else:
                x = layer(x, pad)
        return x
