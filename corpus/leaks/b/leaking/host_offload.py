"""Half-precision copies of the weights on the host after each iteration, "so that one can always go back"."""

import os

import torch
import torch.nn as nn


def to_host(state: dict[str, torch.Tensor]) -> dict[str, torch.Tensor]:
    return {name: value.detach().cpu().half() for name, value in state.items()}  # leak


def main(iterations: int) -> None:
    model = nn.Sequential(nn.Linear(512, 1024), nn.ReLU(), nn.Linear(1024, 512)).cuda()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05, momentum=0.9)
    checkpoints: list[tuple[int, dict[str, torch.Tensor]]] = []
    for iteration in range(iterations):
        x = torch.randn(128, 512, device="cuda")
        loss = (model(x) - x).square().mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        checkpoints.append((iteration, to_host(model.state_dict())))  # leak
        print(f"iteration {iteration}: {loss.item():.4f}, checkpoints {len(checkpoints)}")


main(int(os.environ.get("STEPS", 30)))
