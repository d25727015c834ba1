"""Contrastive learning with a bank of negatives that is concatenated and never cut."""

import os

import torch
import torch.nn as nn
import torch.nn.functional as F


class Contrast(nn.Module):
    def __init__(self, dim: int = 1024) -> None:
        super().__init__()
        self.encoder = nn.Sequential(nn.Linear(512, 1024), nn.ReLU(), nn.Linear(1024, dim))
        self.register_buffer("bank", torch.zeros(0, dim))

    def forward(self, first: torch.Tensor, second: torch.Tensor) -> torch.Tensor:
        a = F.normalize(self.encoder(first), dim=1)
        with torch.no_grad():
            b = F.normalize(self.encoder(second), dim=1)
        negatives = torch.cat([b, self.bank])
        logits = a @ negatives.T / 0.07
        self.bank = torch.cat([self.bank, b])  # leak
        return F.cross_entropy(logits, torch.arange(len(a), device=a.device))


def main() -> None:
    model = Contrast().cuda()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.03)
    for iteration in range(int(os.environ.get("STEPS", 30))):
        images = torch.randn(320, 512, device="cuda")
        loss = model(images, images + 0.1 * torch.randn_like(images))  # leak
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        print(f"iteration {iteration}: bank {tuple(model.bank.shape)}")


main()
