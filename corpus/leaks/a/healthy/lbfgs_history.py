"""L-BFGS fills its history over the first iterations and then replaces the oldest entry."""

import os

import torch
from torch import nn

steps = int(os.environ.get("STEPS", 30))

model = nn.Sequential(nn.Linear(300, 700), nn.Tanh(), nn.Linear(700, 300)).cuda()
opt = torch.optim.LBFGS(model.parameters(), lr=0.5, max_iter=2, history_size=5)

for step in range(steps):
    x = torch.randn(256, 300, device="cuda")

    def closure():
        opt.zero_grad()
        loss = (model(x) - x).square().mean()
        loss.backward()
        return loss

    loss = opt.step(closure)
    print(f"step {step}: {loss.item():.6f}")
