"""Gradient accumulation in which the micro batches of all windows stay in one list."""

import os

import torch
from torch import nn

steps = int(os.environ.get("STEPS", 30))
accumulate = 2

layers = nn.TransformerEncoderLayer(192, 4, 768, batch_first=True).cuda()
opt = torch.optim.AdamW(layers.parameters(), lr=1e-4)
window = []

for step in range(steps):
    for _ in range(accumulate):
        tokens = torch.randn(16, 64, 192, device="cuda")  # leak
        window.append(tokens)  # leak
    for tokens in window[-accumulate:]:
        loss = layers(tokens).square().mean() / accumulate
        loss.backward()
    opt.step()
    opt.zero_grad(set_to_none=True)
    print("step", step, "loss", loss.item())
