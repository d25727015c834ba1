"""Progressive resizing: images get larger every few iterations, and so do the activations."""

import os

import torch
from torch import nn

steps = int(os.environ.get("STEPS", 30))

model = nn.Sequential(
    nn.Conv2d(3, 32, 3, padding=1), nn.BatchNorm2d(32), nn.ReLU(),
    nn.Conv2d(32, 64, 3, stride=2, padding=1), nn.BatchNorm2d(64), nn.ReLU(),
    nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(64, 50),
).cuda()  # fmt: skip
opt = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9, weight_decay=1e-4)

for step in range(steps):
    side = min(32 + 8 * (step // 3), 112)
    x = torch.randn(16, 3, side, side, device="cuda")
    y = torch.randint(0, 50, (16,), device="cuda")
    loss = nn.functional.cross_entropy(model(x), y)
    opt.zero_grad(set_to_none=True)
    loss.backward()
    opt.step()
    print("step", step, "side", side, "loss", loss.item())
