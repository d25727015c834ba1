"""Two pinned buffers, used in turn for all copies to the card."""

import os
import random

import torch
import torch.nn as nn


class DoubleBuffer:
    def __init__(self, rows: int, width: int) -> None:
        self.buffers = [torch.empty(rows, width, pin_memory=True) for _ in range(2)]
        self.turn = 0

    def __call__(self, batch: torch.Tensor) -> torch.Tensor:
        buffer = self.buffers[self.turn][: len(batch)]
        self.turn = 1 - self.turn
        return buffer.copy_(batch).to("cuda", non_blocking=True)


def main(iterations: int) -> None:
    random.seed(59)
    stage = DoubleBuffer(600, 800)
    model = nn.Sequential(nn.Linear(800, 200), nn.ReLU(), nn.Linear(200, 800)).cuda()
    optimizer = torch.optim.Adam(model.parameters())
    for iteration in range(iterations):
        x = stage(torch.randn(random.randint(100, 600), 800))
        loss = (model(x) - x).square().mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        print("iteration", iteration, len(x), loss.item())


main(int(os.environ.get("STEPS", 30)))
