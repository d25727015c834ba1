"""Activation checkpointing over blocks, with sequences of uneven length."""

import os
import random

import torch
from torch import nn
from torch.utils.checkpoint import checkpoint

random.seed(8)
steps = int(os.environ.get("STEPS", 30))

blocks = nn.ModuleList(nn.TransformerEncoderLayer(256, 4, 512, dropout=0.0, batch_first=True) for _ in range(3)).cuda()
opt = torch.optim.AdamW(blocks.parameters(), lr=1e-4)

for step in range(steps):
    x = torch.randn(8, random.randrange(16, 160, 8), 256, device="cuda")
    h = x
    for block in blocks:
        h = checkpoint(block, h, use_reentrant=False)
    loss = h.square().mean()
    opt.zero_grad()
    loss.backward()
    opt.step()
    print("step", step, tuple(x.shape), loss.item())
