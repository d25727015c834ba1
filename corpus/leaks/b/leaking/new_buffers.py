"""Prototypes are registered as buffers under a new name in every iteration."""

import os

import torch
import torch.nn as nn


class Prototypes(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.project = nn.Linear(512, 1024)
        self.count = 0

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.project(x)

    @torch.no_grad()
    def store(self, features: torch.Tensor) -> None:
        centred = features - features.mean(0)  # leak
        self.register_buffer(f"prototypes_{self.count}", centred)  # leak
        self.count += 1


def main() -> None:
    model = Prototypes().cuda()
    optimizer = torch.optim.Adam(model.parameters())
    for iteration in range(int(os.environ.get("STEPS", 30))):
        x = torch.randn(320, 512, device="cuda")
        features = model(x)
        loss = features.var(0).neg().mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        model.store(features)  # leak
        print(f"iteration {iteration}: {sum(1 for _ in model.buffers())} buffers")


main()
