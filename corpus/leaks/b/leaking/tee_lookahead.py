"""itertools.tee over the batches: the second branch is read once, so tee buffers everything for it."""

import itertools
import os
from collections.abc import Iterator

import torch
import torch.nn as nn


def batches(count: int) -> Iterator[torch.Tensor]:
    for _ in range(count):
        yield torch.randn(350, 1000, device="cuda")  # leak


def main(iterations: int) -> None:
    source, peek = itertools.tee(batches(iterations))  # leak
    width = next(peek).shape[1]
    model = nn.Sequential(nn.Linear(width, 100), nn.ReLU(), nn.Linear(100, width)).cuda()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    for iteration, x in enumerate(source):  # leak
        loss = (model(x) - x).abs().mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        print(f"iteration {iteration}: {loss.item():.4f}")
    del peek


main(int(os.environ.get("STEPS", 30)))
