"""A new optimizer every epoch, while the list of schedulers keeps the old ones and their state."""

import os

import torch
from torch import nn

steps = int(os.environ.get("STEPS", 30))
per_epoch = 3

model = nn.Sequential(nn.Linear(512, 1536), nn.Tanh(), nn.Linear(1536, 512)).cuda()
schedulers = []


def start_epoch(epoch):
    opt = torch.optim.Adam(model.parameters(), lr=1e-3 * 0.9**epoch)
    schedulers.append(torch.optim.lr_scheduler.ExponentialLR(opt, 0.99))  # leak
    return opt


step = 0
for epoch in range(steps // per_epoch):
    opt = start_epoch(epoch)
    for _ in range(per_epoch):
        x = torch.randn(64, 512, device="cuda")
        loss = (model(x) - x).square().mean()
        opt.zero_grad()
        loss.backward()
        opt.step()  # leak
        schedulers[-1].step()
        print(f"step {step}: epoch {epoch}, loss {loss.item():.5f}")
        step += 1
