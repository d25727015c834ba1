"""Image classification in the usual shape: argparse, a model class, train and evaluate functions."""

import argparse
import os

import torch
import torch.nn as nn


class SmallResNet(nn.Module):
    def __init__(self, width: int = 32) -> None:
        super().__init__()
        self.stem = nn.Conv2d(3, width, 3, padding=1)
        self.one = nn.Conv2d(width, width, 3, padding=1)
        self.two = nn.Conv2d(width, width, 3, padding=1)
        self.head = nn.Linear(width, 10)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        x = torch.relu(self.stem(x))
        x = x + self.two(torch.relu(self.one(x)))
        return self.head(x.mean((2, 3)))


def train_one(model: nn.Module, optimizer: torch.optim.Optimizer, batch: int) -> float:
    images = torch.randn(batch, 3, 32, 32, device="cuda")
    labels = torch.randint(0, 10, (batch,), device="cuda")
    loss = nn.functional.cross_entropy(model(images), labels)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    return loss.item()


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--batch", type=int, default=64)
    parser.add_argument("--iterations", type=int, default=int(os.environ.get("STEPS", 30)))
    args = parser.parse_args()
    model = SmallResNet().cuda()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)
    for iteration in range(args.iterations):
        print("iteration", iteration, train_one(model, optimizer, args.batch))


main()
