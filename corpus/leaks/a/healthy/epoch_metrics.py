"""Predictions are collected over an epoch on the card, scored, and dropped."""

import os

import torch
from torch import nn

steps = int(os.environ.get("STEPS", 30))
per_epoch = 6


class Accuracy:
    def __init__(self):
        self.reset()

    def reset(self):
        self.logits, self.labels = [], []

    def update(self, logits, labels):
        self.logits.append(logits.detach())
        self.labels.append(labels)

    def compute(self):
        return (torch.cat(self.logits).argmax(1) == torch.cat(self.labels)).float().mean().item()


model = nn.Linear(300, 1000).cuda()
opt = torch.optim.SGD(model.parameters(), lr=0.1)
metric = Accuracy()

for step in range(steps):
    x = torch.randn(400, 300, device="cuda")
    y = torch.randint(0, 1000, (400,), device="cuda")
    logits = model(x)
    loss = nn.functional.cross_entropy(logits, y)
    opt.zero_grad()
    loss.backward()
    opt.step()
    metric.update(logits, y)
    if step % per_epoch == per_epoch - 1:
        print("accuracy", metric.compute())
        metric.reset()
    print("step", step, loss.item())
