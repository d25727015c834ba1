"""Meta-learning that keeps the adapted weights of every task, which hold the graph of their adaptation."""

import os

import torch
import torch.nn as nn
from torch.func import functional_call


def adapt(model: nn.Module, x: torch.Tensor, y: torch.Tensor) -> dict[str, torch.Tensor]:
    weights = dict(model.named_parameters())
    loss = nn.functional.mse_loss(functional_call(model, weights, (x,)), y)  # leak
    grads = torch.autograd.grad(loss, list(weights.values()), create_graph=True)  # leak
    return {name: w - 0.01 * g for (name, w), g in zip(weights.items(), grads)}  # leak


def main(iterations: int) -> None:
    model = nn.Sequential(nn.Linear(64, 512), nn.Tanh(), nn.Linear(512, 512), nn.Tanh(), nn.Linear(512, 1)).cuda()
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
    adapted: dict[int, dict[str, torch.Tensor]] = {}
    for iteration in range(iterations):
        x, y = torch.randn(96, 64, device="cuda"), torch.randn(96, 1, device="cuda")
        adapted[iteration] = adapt(model, x, y)  # leak
        query = torch.randn(96, 64, device="cuda")
        outer = functional_call(model, adapted[iteration], (query,)).square().mean()
        optimizer.zero_grad()
        outer.backward()
        optimizer.step()
        print(f"iteration {iteration}: {outer.item():.5f}, tasks {len(adapted)}")


main(int(os.environ.get("STEPS", 30)))
