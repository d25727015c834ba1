"""Gradients of every step are copied for a study of their noise."""

import os

import torch
import torch.nn as nn


def flat_gradient(model: nn.Module) -> torch.Tensor:
    return torch.cat([p.grad.flatten() for p in model.parameters()])  # leak


def main(iterations: int) -> None:
    model = nn.Sequential(nn.Linear(600, 600), nn.ReLU(), nn.Linear(600, 600)).cuda()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    history: dict[int, torch.Tensor] = {}
    for iteration in range(iterations):
        x = torch.randn(128, 600, device="cuda")
        loss = (model(x) - x).square().mean()
        optimizer.zero_grad()
        loss.backward()
        history[iteration] = flat_gradient(model)  # leak
        optimizer.step()
        drift = (history[iteration] - history[0]).norm().item()
        print(f"iteration {iteration}: drift {drift:.3f}")


if __name__ == "__main__":
    main(int(os.environ.get("STEPS", 30)))
