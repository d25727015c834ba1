"""Image restoration on crops of different size, with test-time augmentation every sixth iteration."""

import os
import random

import torch
import torch.nn as nn


@torch.no_grad()
def augmented(net: nn.Module, x: torch.Tensor) -> torch.Tensor:
    turns = [torch.rot90(net(torch.rot90(x, k, (2, 3))), -k, (2, 3)) for k in range(4)]
    return torch.stack(turns).mean(0)


def main(iterations: int) -> None:
    random.seed(73)
    net = nn.Sequential(nn.Conv2d(3, 64, 3, padding=1), nn.ReLU(), nn.Conv2d(64, 12, 3, padding=1), nn.PixelShuffle(2)).cuda()
    optimizer = torch.optim.Adam(net.parameters(), lr=1e-4)
    for iteration in range(iterations):
        side = random.randrange(24, 96, 4)
        low = torch.rand(8, 3, side, side, device="cuda")
        high = torch.rand(8, 3, 2 * side, 2 * side, device="cuda")
        loss = (net(low) - high).abs().mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        if iteration % 6 == 5:
            print("restored", tuple(augmented(net, low).shape))
        print("iteration", iteration, side, loss.item())


main(int(os.environ.get("STEPS", 30)))
