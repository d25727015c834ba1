"""The plainest training loop there is."""

import os

import torch
from torch import nn

steps = int(os.environ.get("STEPS", 30))

model = nn.Sequential(nn.Linear(784, 1024), nn.ReLU(), nn.Linear(1024, 10)).cuda()
opt = torch.optim.Adam(model.parameters())
losses = []

for step in range(steps):
    x = torch.randn(256, 784).cuda()
    y = torch.randint(0, 10, (256,)).cuda()
    loss = nn.functional.cross_entropy(model(x), y)
    opt.zero_grad()
    loss.backward()
    opt.step()
    losses.append(loss.item())
    print(f"step {step}: {sum(losses) / len(losses):.4f}")
