"""saved_tensors_hooks that look at what autograd saves, and keep a reference to all of it."""

import os

import torch
import torch.nn as nn

seen: dict[int, torch.Tensor] = {}


def pack(tensor: torch.Tensor) -> int:
    key = len(seen)
    seen[key] = tensor  # leak
    return key


def unpack(key: int) -> torch.Tensor:
    return seen[key]


def main(iterations: int) -> None:
    net = nn.Sequential(nn.Linear(256, 700), nn.GELU(), nn.Linear(700, 256)).cuda()
    optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
    for iteration in range(iterations):
        x = torch.randn(512, 256, device="cuda")  # leak
        with torch.autograd.graph.saved_tensors_hooks(pack, unpack):
            loss = (net(x) - x).square().mean()  # leak
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        print(f"iteration {iteration}: {len(seen)} tensors packed")


main(int(os.environ.get("STEPS", 30)))
