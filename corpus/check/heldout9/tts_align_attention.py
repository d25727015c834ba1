import math

import torch
from torch import nn
from torch.utils.checkpoint import checkpoint


class AlignBlock(nn.Module):
    """Self-attention over mel frames (up to 4k of them)."""

    def __init__(self, dim: int, heads: int):
        super().__init__()
        self.h = heads
        self.qkv = nn.Linear(dim, 3 * dim)
        self.proj = nn.Linear(dim, dim)
        self.ff = nn.Sequential(nn.LayerNorm(dim), nn.Linear(dim, 4 * dim), nn.GELU(), nn.Linear(4 * dim, dim))
        self.last_map = None

    def forward(self, x):
        b, t, d = x.shape
        q, k, v = (z.view(b, t, self.h, -1).transpose(1, 2) for z in self.qkv(x).chunk(3, -1))
        energy = torch.einsum("bhid,bhjd->bhij", q, k) / math.sqrt(d // self.h)
        weight = energy.softmax(dim=-1)
        self.last_map = weight
        mixed = torch.einsum("bhij,bhjd->bhid", weight, v)
        x = x + self.proj(mixed.transpose(1, 2).reshape(b, t, d))
        return x + self.ff(x)


class MelNet(nn.Module):
    def __init__(self, dim=384, depth=8):
        super().__init__()
        self.inp = nn.Linear(80, dim)
        self.blocks = nn.ModuleList(AlignBlock(dim, 6) for _ in range(depth))
        self.out = nn.Linear(dim, 80)

    def forward(self, mel):
        h = self.inp(mel)
        for blk in self.blocks:
            h = checkpoint(blk, h, use_reentrant=False)
        return self.out(h)


def main():
    net = MelNet().cuda()
    opt = torch.optim.AdamW(net.parameters(), 1e-4)
    for step in range(1000):
        mel = torch.randn(2, 3000, 80, device="cuda")
        loss = (net(mel) - mel).abs().mean()
        opt.zero_grad(set_to_none=True)
        loss.backward()
        opt.step()


if __name__ == "__main__":
    main()
