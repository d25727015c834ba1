"""A bank of negatives, concatenated and cut to its limit."""

import os

import torch
import torch.nn as nn
import torch.nn.functional as F


class Bank:
    def __init__(self, limit: int, width: int) -> None:
        self.limit = limit
        self.rows = torch.zeros(0, width, device="cuda")

    def push(self, rows: torch.Tensor) -> None:
        self.rows = torch.cat([self.rows, rows.detach()])[-self.limit :].clone()


def main(iterations: int) -> None:
    encoder = nn.Sequential(nn.Linear(400, 800), nn.ReLU(), nn.Linear(800, 512)).cuda()
    optimizer = torch.optim.SGD(encoder.parameters(), lr=0.03)
    bank = Bank(1600, 512)
    for iteration in range(iterations):
        x = torch.randn(256, 400, device="cuda")
        a, b = F.normalize(encoder(x), dim=1), F.normalize(encoder(x + 0.1), dim=1)
        logits = torch.cat([a @ b.T, a @ bank.rows.T], 1) / 0.1
        loss = F.cross_entropy(logits, torch.arange(256, device="cuda"))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        bank.push(b)
        print(f"iteration {iteration}: bank {len(bank.rows)}")


main(int(os.environ.get("STEPS", 30)))
