"""Saves a checkpoint after every epoch and keeps a copy of the best weights."""

import argparse
import copy
import os
import tempfile

import torch
from torch import nn

parser = argparse.ArgumentParser()
parser.add_argument("--device", default="cpu")
args = parser.parse_args()

model = nn.Sequential(nn.Linear(1024, 4096), nn.ReLU(), nn.Linear(4096, 4096), nn.ReLU(), nn.Linear(4096, 1024))
model.to(args.device)
optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
best, best_state = float("inf"), None
with tempfile.TemporaryDirectory() as folder:
    for epoch in range(3):
        for _ in range(5):
            inputs = torch.randn(16, 1024, device=args.device)
            loss = (model(inputs) - inputs).square().mean()
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
        if loss.item() < best:
            best, best_state = loss.item(), copy.deepcopy({key: value.cpu() for key, value in model.state_dict().items()})
        torch.save({"model": model.state_dict(), "optimizer": optimizer.state_dict()}, os.path.join(folder, "last.pt"))
    model.load_state_dict(best_state)
print(best)
