"""Batch inference that keeps every output on the card until the end."""

import os

import torch
from torch import nn

steps = int(os.environ.get("STEPS", 30))

net = nn.Sequential(
    nn.Conv2d(3, 32, 3, stride=2, padding=1),
    nn.ReLU(),
    nn.Conv2d(32, 64, 3, stride=2, padding=1),
    nn.ReLU(),
    nn.Flatten(),
    nn.Linear(64 * 16 * 16, 2048),
).cuda().eval()

outputs = []
with torch.no_grad():
    for step in range(steps):
        batch = torch.randn(256, 3, 64, 64).cuda()
        out = net(batch)  # leak
        outputs.append(out)  # leak
        print(f"step {step}: {len(outputs)} batches embedded")

print("embeddings", sum(o.shape[0] for o in outputs))
