"""Hard example mining with a heap that only ever grows."""

import heapq
import itertools
import os

import torch
import torch.nn as nn
import torch.nn.functional as F


class HardExamples:
    def __init__(self) -> None:
        self.heap: list[tuple[float, int, torch.Tensor]] = []
        self.tie = itertools.count()

    def offer(self, images: torch.Tensor, losses: torch.Tensor) -> None:
        worst = losses.argsort(descending=True)[: len(images) // 2]
        score = -losses.max().item()
        heapq.heappush(self.heap, (score, next(self.tie), images[worst]))  # leak


def main(iterations: int) -> None:
    net = nn.Sequential(nn.Conv2d(3, 16, 5, stride=2), nn.ReLU(), nn.Flatten(), nn.Linear(16 * 30 * 30, 5)).cuda()
    optimizer = torch.optim.SGD(net.parameters(), lr=0.01)
    hard = HardExamples()
    for iteration in range(iterations):
        images = torch.randn(64, 3, 64, 64).cuda()
        labels = torch.randint(0, 5, (64,)).cuda()
        losses = F.cross_entropy(net(images), labels, reduction="none")
        optimizer.zero_grad()
        losses.mean().backward()
        optimizer.step()
        hard.offer(images, losses.detach())  # leak
        print("iteration", iteration, "hard", len(hard.heap))


main(int(os.environ.get("STEPS", 30)))
