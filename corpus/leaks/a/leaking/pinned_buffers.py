"""A pinned staging buffer for each batch, none of which is given back."""

import os

import torch
from torch import nn

steps = int(os.environ.get("STEPS", 30))
staging = []


def to_card(batch):
    buffer = torch.empty(batch.shape, dtype=batch.dtype, pin_memory=True)  # leak
    buffer.copy_(batch)
    staging.append(buffer)  # leak
    return buffer.to("cuda", non_blocking=True)


model = nn.Sequential(nn.Linear(1024, 256), nn.ReLU(), nn.Linear(256, 1024)).cuda()
opt = torch.optim.Adam(model.parameters())

for step in range(steps):
    x = to_card(torch.randn(512, 1024))  # leak
    loss = (model(x) - x).square().mean()
    opt.zero_grad()
    loss.backward()
    opt.step()
    print("step", step, "staged", len(staging))
