"""Some batches fail a check and are skipped; the exception is logged as text and let go."""

import os
import random

import torch
import torch.nn as nn


class Rejected(Exception):
    pass


def training_step(model: nn.Module, optimizer: torch.optim.Optimizer, x: torch.Tensor) -> float:
    out = model(x)
    if len(x) % 5 == 0:
        raise Rejected(f"{len(x)} rows")
    loss = (out - x).square().mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    return loss.item()


def main(iterations: int) -> None:
    random.seed(23)
    model = nn.Sequential(nn.Linear(500, 1500), nn.ReLU(), nn.Linear(1500, 500)).cuda()
    optimizer = torch.optim.AdamW(model.parameters())
    rejected: list[str] = []
    for iteration in range(iterations):
        x = torch.randn(random.randint(100, 400), 500, device="cuda")
        try:
            loss = training_step(model, optimizer, x)
        except Rejected as why:
            rejected.append(f"{iteration}: {why}")
            loss = float("nan")
        print("iteration", iteration, loss, "rejected", len(rejected))


main(int(os.environ.get("STEPS", 30)))
