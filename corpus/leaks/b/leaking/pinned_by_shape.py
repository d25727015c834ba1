"""Pinned staging buffers cached by shape, where nearly every batch has a shape of its own."""

import os

import torch
import torch.nn as nn


class Staging:
    def __init__(self) -> None:
        self.buffers: dict[torch.Size, torch.Tensor] = {}

    def __call__(self, batch: torch.Tensor) -> torch.Tensor:
        if batch.shape not in self.buffers:
            self.buffers[batch.shape] = torch.ones(batch.shape).pin_memory()  # leak
        buffer = self.buffers[batch.shape]
        return buffer.copy_(batch).to("cuda", non_blocking=True)


def main(iterations: int) -> None:
    model = nn.Conv1d(16, 16, 9, padding=4).cuda()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    stage = Staging()
    for iteration in range(iterations):
        x = stage(torch.randn(24, 16, 2000 + 37 * iteration))  # leak
        loss = (model(x) - x).square().mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        print("iteration", iteration, "buffers", len(stage.buffers))


main(int(os.environ.get("STEPS", 30)))
