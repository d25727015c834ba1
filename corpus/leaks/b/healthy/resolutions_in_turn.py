"""Three input resolutions in turn, bfloat16 autocast, channels-last."""

import os

import torch
import torch.nn as nn


def main(iterations: int) -> None:
    net = nn.Sequential(
        nn.Conv2d(3, 32, 3, 2, 1), nn.BatchNorm2d(32), nn.SiLU(),
        nn.Conv2d(32, 96, 3, 2, 1), nn.BatchNorm2d(96), nn.SiLU(),
        nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(96, 100),
    ).cuda().to(memory_format=torch.channels_last)  # fmt: skip
    optimizer = torch.optim.SGD(net.parameters(), lr=0.1, momentum=0.9, nesterov=True)
    sizes = [96, 128, 160]
    for iteration in range(iterations):
        side = sizes[iteration % 3]
        x = torch.randn(24, 3, side, side).cuda().to(memory_format=torch.channels_last)
        y = torch.randint(0, 100, (24,)).cuda()
        with torch.autocast("cuda", dtype=torch.bfloat16):
            loss = nn.functional.cross_entropy(net(x), y, label_smoothing=0.1)
        optimizer.zero_grad(set_to_none=True)
        loss.backward()
        optimizer.step()
        print("iteration", iteration, side, loss.item())


main(int(os.environ.get("STEPS", 30)))
