"""Gradient accumulation with mixed precision and a scaler."""

import os

import torch
from torch import nn

steps = int(os.environ.get("STEPS", 30))
micro = 4

model = nn.Sequential(nn.Linear(1024, 2048), nn.GELU(), nn.Linear(2048, 1024)).cuda()
opt = torch.optim.AdamW(model.parameters(), lr=1e-4)
scaler = torch.amp.GradScaler("cuda")

for step in range(steps):
    total = 0.0
    for _ in range(micro):
        x = torch.randn(64, 1024, device="cuda")
        with torch.autocast("cuda", dtype=torch.float16):
            loss = nn.functional.mse_loss(model(x), x) / micro
        scaler.scale(loss).backward()
        total += loss.item()
    scaler.unscale_(opt)
    nn.utils.clip_grad_norm_(model.parameters(), 1.0)
    scaler.step(opt)
    scaler.update()
    opt.zero_grad(set_to_none=True)
    print(f"step {step}: {total:.4f}")
