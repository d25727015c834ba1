"""A custom autograd function that keeps tensors on its context by itself, and a list of the outputs."""

import os

import torch
import torch.nn as nn


class ScaledTanh(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, scale):
        y = torch.tanh(x) * scale  # leak
        ctx.kept = y
        ctx.scale = scale
        return y.sum(1)  # leak

    @staticmethod
    def backward(ctx, grad):
        return grad[:, None] * (ctx.scale - ctx.kept.square() / ctx.scale), None


def main(iterations: int) -> None:
    layer = nn.Linear(256, 1024).cuda()
    optimizer = torch.optim.SGD(layer.parameters(), lr=0.1)
    energies = []
    for iteration in range(iterations):
        x = torch.randn(400, 256, device="cuda")
        energy = ScaledTanh.apply(layer(x), 2.0)  # leak
        optimizer.zero_grad()
        energy.mean().backward()
        optimizer.step()
        energies.append(energy)  # leak
        print("iteration", iteration, energies[-1].mean().item())


main(int(os.environ.get("STEPS", 30)))
