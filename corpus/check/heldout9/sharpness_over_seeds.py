"""Curvature along the gradient for many random starts (figure 3 of the report)."""
import argparse
import json

import torch
from torch import nn


def start(seed: int, width: int) -> nn.Module:
    torch.manual_seed(seed)
    return nn.Sequential(nn.Linear(784, width), nn.Tanh(), nn.Linear(width, width), nn.Tanh(), nn.Linear(width, 10)).cuda()


def curvature(seed: int, width: int, x: torch.Tensor, y: torch.Tensor) -> float:
    net = start(seed, width)
    loss = nn.functional.cross_entropy(net(x), y)
    loss.backward(create_graph=True)
    grads = [p.grad for p in net.parameters()]
    length = torch.sqrt(sum(g.pow(2).sum() for g in grads))
    along = torch.autograd.grad(length, list(net.parameters()))
    return sum((a * g.detach()).sum() for a, g in zip(along, grads)).item() / length.item()


if __name__ == "__main__":
    ap = argparse.ArgumentParser()
    ap.add_argument("--seeds", type=int, default=500)
    ap.add_argument("--width", type=int, default=4096)
    args = ap.parse_args()
    x, y = torch.randn(2048, 784, device="cuda"), torch.randint(0, 10, (2048,), device="cuda")
    json.dump([curvature(s, args.width, x, y) for s in range(args.seeds)], open("curv.json", "w"))
