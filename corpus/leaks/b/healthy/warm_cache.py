"""A frozen encoder's features are cached in the first epoch of five batches and reused afterwards."""

import os

import torch
import torch.nn as nn


class CachedFeatures:
    def __init__(self, encoder: nn.Module, batches: list[torch.Tensor]) -> None:
        self.encoder, self.batches = encoder, batches
        self.features: dict[int, torch.Tensor] = {}

    @torch.no_grad()
    def __getitem__(self, index: int) -> torch.Tensor:
        if index not in self.features:
            self.features[index] = self.encoder(self.batches[index].cuda())
        return self.features[index]


def main(iterations: int) -> None:
    encoder = nn.Sequential(nn.Linear(600, 1200), nn.ReLU(), nn.Linear(1200, 900)).cuda()
    data = CachedFeatures(encoder, [torch.randn(400, 600) for _ in range(5)])
    head = nn.Linear(900, 10).cuda()
    optimizer = torch.optim.SGD(head.parameters(), lr=0.1)
    for iteration in range(iterations):
        features = data[iteration % 5]
        labels = torch.randint(0, 10, (len(features),), device="cuda")
        loss = nn.functional.cross_entropy(head(features), labels)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        print("iteration", iteration, "cached", len(data.features), loss.item())


main(int(os.environ.get("STEPS", 30)))
