"""Each epoch of four iterations ends with a validation whose predictions are gathered on the card and then dropped."""

import os
import random

import torch
import torch.nn as nn


@torch.no_grad()
def validate(model: nn.Module, batches: int) -> float:
    model.eval()
    predictions = [model(torch.randn(128, 300, device="cuda")) for _ in range(batches)]
    spread = torch.cat(predictions).std().item()
    model.train()
    return spread


def main(iterations: int) -> None:
    random.seed(37)
    model = nn.Sequential(nn.Linear(300, 900), nn.ReLU(), nn.Linear(900, 900)).cuda()
    optimizer = torch.optim.Adam(model.parameters())
    for iteration in range(iterations):
        x = torch.randn(128, 300, device="cuda")
        loss = model(x).square().mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        if iteration % 4 == 3:
            print("validation", validate(model, batches=random.randint(4, 16)))
        print("iteration", iteration, loss.item())


main(int(os.environ.get("STEPS", 30)))
