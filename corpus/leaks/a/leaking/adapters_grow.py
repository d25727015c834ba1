"""Continual learning: a new adapter for each task, and none is ever retired."""

import os

import torch
from torch import nn

steps = int(os.environ.get("STEPS", 30))


class LoRA(nn.Module):
    def __init__(self, base, rank):
        super().__init__()
        self.base = base
        self.rank = rank
        self.tasks = nn.ModuleList()

    def add_task(self):
        down = nn.Linear(self.base.in_features, self.rank, bias=False)
        up = nn.Linear(self.rank, self.base.out_features, bias=False)
        self.tasks.append(nn.Sequential(down, up).cuda())  # leak

    def forward(self, x):
        return self.base(x) + self.tasks[-1](x)


base = nn.Linear(2048, 2048).cuda().requires_grad_(False)
model = LoRA(base, rank=128)

for step in range(steps):
    model.add_task()  # leak
    opt = torch.optim.SGD(model.tasks[-1].parameters(), lr=0.1)
    x = torch.randn(32, 2048, device="cuda")
    loss = model(x).pow(2).mean()
    loss.backward()  # leak
    opt.step()
    print(f"step {step}: {len(model.tasks)} adapters, loss {loss.item():.4f}")
