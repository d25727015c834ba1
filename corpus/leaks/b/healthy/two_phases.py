"""Pretraining, then fine-tuning with a larger batch and a second optimizer: memory steps up once."""

import os

import torch
import torch.nn as nn


def loop(name: str, model: nn.Module, params, batch: int, start: int, end: int) -> None:
    optimizer = torch.optim.Adam(params, lr=1e-3)
    for iteration in range(start, end):
        x = torch.randn(batch, 512, device="cuda")
        loss = (model(x) - x).abs().mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        print(name, iteration, loss.item())


def main(iterations: int) -> None:
    head = nn.Linear(1024, 512)
    model = nn.Sequential(nn.Linear(512, 1024), nn.GELU(), nn.Linear(1024, 1024), nn.GELU(), head).cuda()
    half = iterations // 2
    loop("head only", model, head.parameters(), 64, 0, half)
    loop("everything", model, model.parameters(), 256, half, iterations)


main(int(os.environ.get("STEPS", 30)))
