"""Training with an evaluation of many batches now and then, under no_grad, the results on the host as numbers."""

import os

import torch
from torch import nn

steps = int(os.environ.get("STEPS", 30))

net = nn.Sequential(nn.Conv2d(1, 32, 5), nn.ReLU(), nn.MaxPool2d(2), nn.Conv2d(32, 64, 5), nn.ReLU(), nn.Flatten(), nn.Linear(4096, 10)).cuda()
opt = torch.optim.Adam(net.parameters(), lr=1e-3)


@torch.no_grad()
def evaluate():
    net.eval()
    hits = total = 0
    for _ in range(8):
        x, y = torch.randn(200, 1, 28, 28).cuda(), torch.randint(0, 10, (200,)).cuda()
        hits += (net(x).argmax(1) == y).sum().item()
        total += len(y)
    net.train()
    return hits / total


for step in range(steps):
    x, y = torch.randn(64, 1, 28, 28).cuda(), torch.randint(0, 10, (64,)).cuda()
    loss = nn.functional.cross_entropy(net(x), y)
    opt.zero_grad()
    loss.backward()
    opt.step()
    if step % 10 == 9:
        print("accuracy", evaluate())
    print("step", step, loss.item())
