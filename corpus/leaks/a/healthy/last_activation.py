"""A hook that keeps only the last activation of each layer, for a look when something goes wrong."""

import os

import torch
from torch import nn

steps = int(os.environ.get("STEPS", 30))

model = nn.Sequential(nn.Linear(256, 1024), nn.ReLU(), nn.Linear(1024, 1024), nn.ReLU(), nn.Linear(1024, 256)).cuda()
latest = {}
for name, module in model.named_children():
    module.register_forward_hook(lambda _, __, output, name=name: latest.update({name: output.detach()}))

opt = torch.optim.SGD(model.parameters(), lr=0.1)
for step in range(steps):
    x = torch.randn(256, 256, device="cuda")
    loss = (model(x) - x).square().mean()
    opt.zero_grad()
    loss.backward()
    opt.step()
    print("step", step, {name: tuple(value.shape) for name, value in latest.items()}["4"])
