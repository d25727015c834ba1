"""Layers are unfrozen from the top, one at a time: gradients and optimizer state come in stages."""

import os

import torch
from torch import nn

steps = int(os.environ.get("STEPS", 30))

layers = nn.ModuleList(nn.Linear(700, 700) for _ in range(4)).cuda().requires_grad_(False)
head = nn.Linear(700, 20).cuda()
opt = torch.optim.Adam(head.parameters(), lr=1e-3)

for step in range(steps):
    if step % 4 == 2 and step // 4 < len(layers):
        layer = layers[-1 - step // 4].requires_grad_(True)
        opt.add_param_group({"params": layer.parameters(), "lr": 1e-4})
    x = torch.randn(200, 700, device="cuda")
    y = torch.randint(0, 20, (200,), device="cuda")
    h = x
    for layer in layers:
        h = torch.relu(layer(h))
    loss = nn.functional.cross_entropy(head(h), y)
    opt.zero_grad()
    loss.backward()
    opt.step()
    print("step", step, "groups", len(opt.param_groups), "loss", loss.item())
