"""Cross-validation: every fold's model is kept, and so are its gradients and its optimizer."""

import os

import torch
import torch.nn as nn


def build() -> nn.Module:
    return nn.Sequential(nn.Linear(320, 1280), nn.ReLU(), nn.Linear(1280, 2))


def train_fold(seed: int, epochs: int) -> tuple[nn.Module, torch.optim.Optimizer, float]:
    torch.manual_seed(seed)
    model = build().cuda()  # leak
    optimizer = torch.optim.Adam(model.parameters())
    for _ in range(epochs):
        x = torch.randn(128, 320, device="cuda")
        y = torch.randint(0, 2, (128,), device="cuda")
        loss = nn.functional.cross_entropy(model(x), y)
        optimizer.zero_grad()
        loss.backward()  # leak
        optimizer.step()  # leak
    return model, optimizer, loss.item()


def main(folds: int) -> None:
    results = []
    for fold in range(folds):
        results.append(train_fold(fold, epochs=2))  # leak
        print(f"fold {fold}: {results[-1][2]:.4f}")


main(int(os.environ.get("STEPS", 30)))
