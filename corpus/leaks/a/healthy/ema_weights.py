"""A moving average of the weights, updated in place."""

import copy
import os

import torch
from torch import nn

steps = int(os.environ.get("STEPS", 30))

model = nn.Sequential(nn.Conv2d(3, 64, 3, padding=1), nn.SiLU(), nn.Conv2d(64, 3, 3, padding=1)).cuda()
average = copy.deepcopy(model).requires_grad_(False)
opt = torch.optim.Adam(model.parameters(), 1e-4)


@torch.no_grad()
def follow(decay=0.999):
    for slow, fast in zip(average.parameters(), model.parameters()):
        slow.lerp_(fast, 1 - decay)


for step in range(steps):
    clean = torch.randn(8, 3, 64, 64, device="cuda")
    noise = torch.randn_like(clean)
    level = torch.rand(8, 1, 1, 1, device="cuda")
    loss = nn.functional.mse_loss(model(clean + level * noise), noise)
    opt.zero_grad()
    loss.backward()
    opt.step()
    follow()
    print(f"step {step}: {loss.item():.4f}")
