"""Pseudo labels for a fixed pool are refreshed every five iterations; the old ones go."""

import os

import torch
import torch.nn as nn


def main(iterations: int) -> None:
    pool = torch.randn(3000, 256, device="cuda")
    model = nn.Sequential(nn.Linear(256, 512), nn.ReLU(), nn.Linear(512, 64)).cuda()
    optimizer = torch.optim.Adam(model.parameters())
    labels = torch.zeros(3000, 64, device="cuda")
    for iteration in range(iterations):
        if iteration % 5 == 0:
            with torch.no_grad():
                labels = torch.cat([model(part).softmax(1) for part in pool.split(500)])
        at = torch.randperm(3000)[:300].cuda()
        loss = nn.functional.cross_entropy(model(pool[at]), labels[at])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        print(f"iteration {iteration}: {loss.item():.4f}")


main(int(os.environ.get("STEPS", 30)))
