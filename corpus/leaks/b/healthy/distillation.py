"""Distillation: a frozen teacher under no_grad, a student that learns from it."""

import os

import torch
import torch.nn as nn
import torch.nn.functional as F


def transformer(width: int, depth: int) -> nn.Module:
    layer = nn.TransformerEncoderLayer(width, 4, 2 * width, batch_first=True)
    return nn.TransformerEncoder(layer, depth, enable_nested_tensor=False)


def main(iterations: int) -> None:
    teacher = transformer(256, 4).cuda().eval().requires_grad_(False)
    student = transformer(256, 1).cuda()
    optimizer = torch.optim.Adam(student.parameters(), lr=1e-4)
    for iteration in range(iterations):
        x = torch.randn(8, 100, 256, device="cuda")
        with torch.no_grad():
            target = teacher(x)
        loss = F.mse_loss(student(x), target)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        print(f"iteration {iteration}: {loss.item():.4f}")


main(int(os.environ.get("STEPS", 30)))
