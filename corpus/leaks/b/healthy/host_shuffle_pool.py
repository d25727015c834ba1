"""A shuffle buffer on the host, filled once and then exchanged item by item."""

import os
import random
from collections.abc import Iterator

import torch
import torch.nn as nn


def shuffled(source: Iterator[torch.Tensor], room: int) -> Iterator[torch.Tensor]:
    pool: list[torch.Tensor] = []
    for item in source:
        if len(pool) < room:
            pool.append(item)
            continue
        at = random.randrange(room)
        pool[at], item = item, pool[at]
        yield item


def main(iterations: int) -> None:
    random.seed(61)
    endless = (torch.randn(128, 1000) for _ in iter(int, 1))
    model = nn.Sequential(nn.Linear(1000, 100), nn.ReLU(), nn.Linear(100, 1000)).cuda()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    for iteration, x in zip(range(iterations), shuffled(endless, room=16)):
        x = x.cuda()
        loss = (model(x) - x).abs().mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        print(f"iteration {iteration}: {loss.item():.4f}")


main(int(os.environ.get("STEPS", 30)))
