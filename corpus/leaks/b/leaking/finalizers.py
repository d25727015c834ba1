"""weakref.finalize with the tensor itself as an argument: the registry keeps it for as long as the owner lives."""

import os
import weakref

import torch
import torch.nn as nn


class Store:
    """Lives as long as the job."""


released: list[tuple[int, ...]] = []


def report(batch: torch.Tensor) -> None:
    released.append(tuple(batch.shape))


def main(iterations: int) -> None:
    store = Store()
    model = nn.Sequential(nn.Linear(700, 350), nn.ReLU(), nn.Linear(350, 700)).cuda()
    optimizer = torch.optim.RMSprop(model.parameters())
    for iteration in range(iterations):
        batch = torch.randn(450, 700, device="cuda")  # leak
        weakref.finalize(store, report, batch).atexit = False  # leak
        loss = (model(batch) - batch).square().mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        print(f"iteration {iteration}: {loss.item():.4f}")


main(int(os.environ.get("STEPS", 30)))
