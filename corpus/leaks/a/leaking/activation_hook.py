"""A forward hook that collects activations for a histogram nobody draws."""

import os
from collections import defaultdict

import torch
from torch import nn

steps = int(os.environ.get("STEPS", 30))

model = nn.Sequential(
    nn.Conv2d(3, 16, 3, padding=1),
    nn.BatchNorm2d(16),
    nn.ReLU(inplace=False),
    nn.Conv2d(16, 32, 3, stride=2, padding=1),
    nn.ReLU(inplace=False),
    nn.AdaptiveAvgPool2d(1),
    nn.Flatten(),
    nn.Linear(32, 100),
).cuda()
activations = defaultdict(list)


def remember(name):
    def hook(module, args, output):
        activations[name].append(output.detach())  # leak

    return hook


for name, module in model.named_modules():
    if isinstance(module, nn.Conv2d):
        module.register_forward_hook(remember(name))

opt = torch.optim.SGD(model.parameters(), lr=0.01)
for step in range(steps):
    x = torch.randn(32, 3, 32, 32, device="cuda")
    y = torch.randint(0, 100, (32,), device="cuda")
    loss = nn.functional.cross_entropy(model(x), y)  # leak
    opt.zero_grad()
    loss.backward()
    opt.step()
    print("step", step, loss.item())
