"""A mean metric in the manner of a metrics library: `update` keeps the raw predictions, `reset` is never called."""

import os
from dataclasses import dataclass, field

import torch
import torch.nn as nn


@dataclass
class AveragePrecision:
    scores: list[torch.Tensor] = field(default_factory=list)
    targets: list[torch.Tensor] = field(default_factory=list)

    def update(self, scores: torch.Tensor, targets: torch.Tensor) -> None:
        self.scores.append(scores.sigmoid())  # leak
        self.targets.append(targets)

    def compute(self) -> float:
        return float(self.scores[-1].mean())


def main(iterations: int) -> None:
    model = nn.Sequential(nn.Linear(256, 512), nn.ReLU(), nn.Linear(512, 800)).to("cuda")
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
    criterion = nn.BCEWithLogitsLoss()
    metric = AveragePrecision()
    for iteration in range(iterations):
        inputs = torch.randn(512, 256, device="cuda")
        targets = torch.randint(0, 2, (512, 800), device="cuda").float()  # leak
        optimizer.zero_grad()
        scores = model(inputs)
        criterion(scores, targets).backward()
        optimizer.step()
        metric.update(scores.detach(), targets)  # leak
        print("iteration", iteration, "ap", metric.compute())


if __name__ == "__main__":
    main(int(os.environ.get("STEPS", 30)))
