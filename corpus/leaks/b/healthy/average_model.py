"""Stochastic weight averaging from the second half on, with PyTorch's own AveragedModel."""

import os

import torch
import torch.nn as nn
from torch.optim.swa_utils import SWALR, AveragedModel


def main(iterations: int) -> None:
    model = nn.Sequential(nn.Linear(400, 800), nn.ReLU(), nn.Linear(800, 400)).cuda()
    averaged = AveragedModel(model)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)
    schedule = SWALR(optimizer, swa_lr=0.05)
    for iteration in range(iterations):
        x = torch.randn(200, 400, device="cuda")
        loss = (model(x) - x).square().mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        if iteration > iterations // 2:
            averaged.update_parameters(model)
            schedule.step()
        print(f"iteration {iteration}: {loss.item():.4f}, averaged {int(averaged.n_averaged)}")


main(int(os.environ.get("STEPS", 30)))
