"""Batches that refer to themselves, in a job that switched the garbage collector off for speed."""

import gc
import os

import torch
from torch import nn

gc.disable()
steps = int(os.environ.get("STEPS", 30))


class Batch:
    def __init__(self, size):
        self.inputs = torch.randn(size, 512, device="cuda")  # leak
        self.targets = torch.randn(size, 16, device="cuda")  # leak
        self.views = [View(self, start, size // 4) for start in range(0, size, size // 4)]  # leak


class View:
    def __init__(self, batch, start, size):
        self.batch = batch  # leak
        self.span = slice(start, start + size)

    def tensors(self):
        return self.batch.inputs[self.span], self.batch.targets[self.span]


model = nn.Sequential(nn.Linear(512, 256), nn.ReLU(), nn.Linear(256, 16)).cuda()
opt = torch.optim.Adam(model.parameters())

for step in range(steps):
    batch = Batch(1024)  # leak
    for view in batch.views:
        x, y = view.tensors()
        loss = (model(x) - y).square().mean()
        opt.zero_grad()
        loss.backward()
        opt.step()
    print(f"step {step}: {loss.item():.4f}")
