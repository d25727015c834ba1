"""A cache of decoded images on the host that holds eight at most."""

import functools
import os
import random

import numpy as np
import torch
import torch.nn as nn


@functools.lru_cache(maxsize=8)
def decode(index: int) -> np.ndarray:
    return np.random.default_rng(index).standard_normal((3, 256, 256))


def main(iterations: int) -> None:
    random.seed(53)
    net = nn.Sequential(nn.Conv2d(3, 8, 8, 8), nn.ReLU(), nn.Flatten(), nn.Linear(8 * 32 * 32, 3)).cuda()
    optimizer = torch.optim.SGD(net.parameters(), lr=0.01)
    for iteration in range(iterations):
        images = np.stack([decode(random.randrange(40)) for _ in range(4)])
        x = torch.from_numpy(images).float().cuda()
        loss = net(x).square().mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        print("iteration", iteration, decode.cache_info().currsize, loss.item())


main(int(os.environ.get("STEPS", 30)))
