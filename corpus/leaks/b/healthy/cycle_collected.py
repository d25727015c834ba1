"""Objects with reference cycles, which the garbage collector gets to every few iterations."""

import gc
import os

import torch
import torch.nn as nn


class Node:
    def __init__(self, value: torch.Tensor) -> None:
        self.value = value
        self.owner = self


def main(iterations: int) -> None:
    model = nn.Sequential(nn.Linear(400, 400), nn.ReLU(), nn.Linear(400, 400)).cuda()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    for iteration in range(iterations):
        node = Node(torch.randn(700, 400, device="cuda"))
        loss = (model(node.value) - node.value).square().mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        if iteration % 4 == 3:
            gc.collect()
        print("iteration", iteration, loss.item())


main(int(os.environ.get("STEPS", 30)))
