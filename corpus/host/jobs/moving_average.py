"""Keeps a moving average of the weights, and starts from a checkpoint."""

import argparse
import copy
import os
import tempfile

import torch
from torch import nn

parser = argparse.ArgumentParser()
parser.add_argument("--device", default="cpu")
args = parser.parse_args()

model = nn.Sequential(*(nn.Sequential(nn.Linear(1200, 1200), nn.GELU()) for _ in range(10)))
with tempfile.TemporaryDirectory() as folder:
    path = os.path.join(folder, "start.pt")
    torch.save(model.state_dict(), path)
    model.load_state_dict(torch.load(path, map_location="cpu"))
model.to(args.device)
average = copy.deepcopy(model).requires_grad_(False)
optimizer = torch.optim.AdamW(model.parameters())
for step in range(10):
    loss = model(torch.randn(16, 1200, device=args.device)).square().mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    with torch.no_grad():
        for kept, new in zip(average.parameters(), model.parameters()):
            kept.lerp_(new, 0.01)
print(loss.item())
