"""A helper with a module-level list: features pile up over all calls."""

import os

import torch
from torch import nn

steps = int(os.environ.get("STEPS", 30))

_FEATURES = []


def collect(features, labels):
    _FEATURES.append((features.float(), labels))  # leak
    return len(_FEATURES)


backbone = nn.Sequential(nn.Conv1d(1, 32, 9, stride=4), nn.ReLU(), nn.Conv1d(32, 64, 9, stride=4), nn.ReLU()).cuda().half()
backbone.requires_grad_(False)
probe = nn.Linear(64, 8).cuda()
opt = torch.optim.SGD(probe.parameters(), lr=0.1)

for step in range(steps):
    signal = torch.randn(64, 1, 2048, device="cuda", dtype=torch.half)
    labels = torch.randint(0, 8, (64,), device="cuda")
    features = backbone(signal)
    kept = collect(features, labels)  # leak
    loss = nn.functional.cross_entropy(probe(features.float().mean(-1)), labels)
    loss.backward()
    opt.step()
    opt.zero_grad()
    print("step", step, "kept", kept)
