"""LoRA on a frozen body: only the small matrices have gradients and optimizer state."""

import os

import torch
from torch import nn

steps = int(os.environ.get("STEPS", 30))


class LoRALinear(nn.Module):
    def __init__(self, base, rank=16):
        super().__init__()
        self.base = base.requires_grad_(False)
        self.down = nn.Linear(base.in_features, rank, bias=False)
        self.up = nn.Linear(rank, base.out_features, bias=False)
        nn.init.zeros_(self.up.weight)

    def forward(self, x):
        return self.base(x) + self.up(self.down(x))


model = nn.Sequential(*(LoRALinear(nn.Linear(1024, 1024)) for _ in range(6))).cuda()
opt = torch.optim.AdamW([p for p in model.parameters() if p.requires_grad], lr=1e-3)
schedule = torch.optim.lr_scheduler.CosineAnnealingLR(opt, steps)

for step in range(steps):
    x = torch.randn(128, 1024, device="cuda")
    loss = (model(x) - x.roll(1, 0)).square().mean()
    opt.zero_grad()
    loss.backward()
    opt.step()
    schedule.step()
    print(f"step {step}: {loss.item():.5f}")
