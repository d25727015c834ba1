"""Everything is logged, as numbers and short strings: the log grows, by a few hundred bytes an iteration."""

import os

import torch
import torch.nn as nn


def main(iterations: int) -> None:
    model = nn.Sequential(nn.Linear(600, 600), nn.ReLU(), nn.Linear(600, 600)).cuda()
    optimizer = torch.optim.Adam(model.parameters())
    log: dict[str, list] = {"loss": [], "norms": [], "text": []}
    for iteration in range(iterations):
        x = torch.randn(256, 600, device="cuda")
        loss = (model(x) - x).square().mean()
        optimizer.zero_grad()
        loss.backward()
        norms = [p.grad.norm().item() for p in model.parameters()]
        optimizer.step()
        log["loss"].append(loss.detach())
        log["norms"].append(norms)
        log["text"].append(f"iteration {iteration}: {loss.item():.4f}")
        print(log["text"][-1])


main(int(os.environ.get("STEPS", 30)))
