"""Features are kept by class, for nearest-neighbour evaluation, in a defaultdict that nobody prunes."""

import os
import random
from collections import defaultdict

import torch
import torch.nn as nn


class FeatureIndex:
    def __init__(self) -> None:
        self.by_class: defaultdict[int, list[torch.Tensor]] = defaultdict(list)

    def add(self, features: torch.Tensor, labels: list[int]) -> None:
        for feature, label in zip(features, labels):
            self.by_class[label].append(feature)  # leak


def main(iterations: int) -> None:
    random.seed(0)
    net = nn.Sequential(nn.Linear(1024, 1024), nn.ReLU(), nn.Linear(1024, 1600)).cuda()
    net.requires_grad_(False)
    index = FeatureIndex()
    for iteration in range(iterations):
        x = torch.randn(192 + random.randrange(64), 1024, device="cuda")
        features = net(x)  # leak
        labels = [random.randrange(20) for _ in range(len(x))]
        index.add(features, labels)  # leak
        print("batch", iteration, "indexed", sum(map(len, index.by_class.values())))


if __name__ == "__main__":
    main(int(os.environ.get("STEPS", 30)))
