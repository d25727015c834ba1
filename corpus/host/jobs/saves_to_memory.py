"""Saves to a buffer in memory after every few steps, the last two of which are kept."""

import argparse
import io

import torch
from torch import nn

parser = argparse.ArgumentParser()
parser.add_argument("--device", default="cpu")
args = parser.parse_args()

model = nn.Sequential(*(nn.Linear(1500, 1500) for _ in range(6))).to(args.device)
optimizer = torch.optim.Adam(model.parameters(), lr=1e-4)
kept = []
for step in range(15):
    loss = model(torch.randn(64, 1500, device=args.device)).square().mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if step % 5 == 4:
        buffer = io.BytesIO()
        torch.save(model.state_dict(), buffer)
        kept = [*kept[-1:], buffer.getvalue()]
print(len(kept), loss.item())
