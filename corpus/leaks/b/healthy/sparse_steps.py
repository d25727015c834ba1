"""A mixture of experts: which experts run, and how many rows each gets, changes with every batch."""

import os
import random

import torch
import torch.nn as nn


class Mixture(nn.Module):
    def __init__(self, experts: int, width: int) -> None:
        super().__init__()
        self.experts = nn.ModuleList(nn.Sequential(nn.Linear(width, 4 * width), nn.ReLU(), nn.Linear(4 * width, width)) for _ in range(experts))

    def forward(self, x: torch.Tensor, rows: list[int]) -> torch.Tensor:
        parts = x.split(rows)
        return torch.cat([expert(part) if len(part) else part for expert, part in zip(self.experts, parts)])


def split(total: int, parts: int) -> list[int]:
    cuts = sorted(random.randrange(total + 1) for _ in range(parts - 1))
    return [b - a for a, b in zip([0, *cuts], [*cuts, total])]


def main(iterations: int) -> None:
    random.seed(67)
    model = Mixture(6, 256).cuda()
    optimizer = torch.optim.Adam(model.parameters())
    for iteration in range(iterations):
        used = random.sample(range(6), 3)
        total = random.randint(200, 900)
        rows = [0] * 6
        for expert, count in zip(used, split(total, 3)):
            rows[expert] = count
        x = torch.randn(total, 256, device="cuda")
        loss = (model(x, rows) - x).square().mean()
        optimizer.zero_grad(set_to_none=True)
        loss.backward()
        optimizer.step()
        print("iteration", iteration, rows, loss.item())


main(int(os.environ.get("STEPS", 30)))
