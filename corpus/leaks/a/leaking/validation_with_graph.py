"""Validation in the training loop without no_grad, its losses collected for early stopping."""

import os

import torch
from torch import nn

steps = int(os.environ.get("STEPS", 30))

net = nn.Sequential(nn.Linear(200, 600), nn.ReLU(), nn.Dropout(0.1), nn.Linear(600, 600), nn.ReLU(), nn.Linear(600, 1)).cuda()
opt = torch.optim.Adam(net.parameters())
mse = nn.MSELoss()
valid = [(torch.randn(300, 200, device="cuda"), torch.randn(300, 1, device="cuda")) for _ in range(2)]
valid_losses = []


def validate():
    net.eval()
    total = 0.0
    for x, y in valid:
        total = total + mse(net(x), y)  # leak
    net.train()
    return total / len(valid)  # leak


for step in range(steps):
    x = torch.randn(300, 200, device="cuda")
    y = torch.randn(300, 1, device="cuda")
    loss = mse(net(x), y)
    opt.zero_grad()
    loss.backward()
    opt.step()
    valid_losses.append(validate())  # leak
    best = min(valid_losses)
    print(f"step {step}: train {loss.item():.3f} best {best.item():.3f}")
