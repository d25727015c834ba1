"""Adversarial training: each batch's perturbation becomes a parameter of the one optimizer."""
import os

import torch
from torch import nn

device = "cuda"
steps = int(os.environ.get("STEPS", 60))

clf = nn.Sequential(nn.Linear(784, 256), nn.ReLU(), nn.Linear(256, 10)).to(device)
opt = torch.optim.Adam([{"params": clf.parameters(), "lr": 1e-3}])
crit = nn.CrossEntropyLoss()


def attach_delta(shape):
    delta = nn.Parameter(torch.zeros(shape, device=device))  # leak
    opt.add_param_group({"params": [delta], "lr": 0.1, "maximize": True})  # leak
    return delta


for step in range(steps):
    x = torch.rand(256, 784, device=device)
    y = torch.randint(0, 10, (256,), device=device)
    delta = attach_delta(x.shape)  # leak
    for _ in range(2):
        opt.zero_grad()
        loss = crit(clf(x + delta.clamp(-0.1, 0.1)), y)
        loss.backward()
        opt.step()  # leak
    print(f"step {step}: adversarial loss {loss.item():.4f}")
