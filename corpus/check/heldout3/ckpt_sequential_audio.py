import torch
import torch.nn as nn
import torch.utils.checkpoint as cp


class Residual(nn.Module):
    def __init__(self, c, dilation):
        super().__init__()
        self.body = nn.Sequential(nn.Conv1d(c, c, 3, padding=dilation, dilation=dilation), nn.GELU(), nn.Conv1d(c, c, 1))

    def forward(self, x):
        return x + self.body(x)


class WaveEncoder(nn.Module):
    def __init__(self, c=512, depth=24, segments=6):
        super().__init__()
        self.stem = nn.Conv1d(1, c, 16, 8)
        self.trunk = nn.Sequential(*[Residual(c, 2 ** (i % 8)) for i in range(depth)])
        self.segments = segments
        self.norm = nn.GroupNorm(1, c)

    def forward(self, wav):
        x = self.stem(wav)
        if self.training:
            x = cp.checkpoint_sequential(self.trunk, self.segments, x)
        else:
            x = self.trunk(x)
        return self.norm(x)


class Separator(nn.Module):
    def __init__(self, sources=4):
        super().__init__()
        self.enc = WaveEncoder()
        self.mask = nn.Conv1d(512, 512 * sources, 1)
        self.dec = nn.ConvTranspose1d(512, 1, 16, 8)
        self.sources = sources

    def forward(self, wav):
        z = cp.checkpoint(self.enc, wav)
        m = self.mask(z).sigmoid().chunk(self.sources, 1)
        return torch.cat([self.dec(z * k) for k in m], 1)
