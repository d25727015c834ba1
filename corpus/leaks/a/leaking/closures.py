"""Deferred logging: each closure captures the batch it would describe, and none is ever called."""

import os

import torch
from torch import nn

steps = int(os.environ.get("STEPS", 30))

model = nn.Sequential(nn.Linear(640, 640), nn.SiLU(), nn.Linear(640, 640)).cuda()
opt = torch.optim.AdamW(model.parameters())
pending = []


def train_step(step):
    x = torch.randn(512, 640, device="cuda")  # leak
    prediction = model(x)
    loss = nn.functional.l1_loss(prediction, x)
    opt.zero_grad(set_to_none=True)
    loss.backward()
    opt.step()

    def describe():
        return f"step {step}: mean {x.mean().item():.3f}, std {x.std().item():.3f}"

    pending.append(describe)  # leak
    return loss.item()


for step in range(steps):
    value = train_step(step)  # leak
    print(f"step {step}: loss {value:.4f}, {len(pending)} notes waiting")
