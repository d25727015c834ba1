"""Validation scores on the host: a metric keeps CPU tensors of every batch of every validation."""

import os

import torch
import torch.nn as nn


class Calibration:
    def __init__(self) -> None:
        self.probabilities: list[torch.Tensor] = []

    def update(self, logits: torch.Tensor) -> None:
        self.probabilities.append(logits.softmax(1).to("cpu", torch.float64))  # leak


def main(iterations: int) -> None:
    model = nn.Sequential(nn.Linear(128, 256), nn.ReLU(), nn.Linear(256, 500)).cuda()
    optimizer = torch.optim.Adam(model.parameters())
    calibration = Calibration()
    for iteration in range(iterations):
        x = torch.randn(256, 128, device="cuda")
        y = torch.randint(0, 500, (256,), device="cuda")
        loss = nn.functional.cross_entropy(model(x), y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        with torch.no_grad():
            for _ in range(2):
                calibration.update(model(torch.randn(256, 128, device="cuda")))  # leak
        print("iteration", iteration, "batches", len(calibration.probabilities))


main(int(os.environ.get("STEPS", 30)))
