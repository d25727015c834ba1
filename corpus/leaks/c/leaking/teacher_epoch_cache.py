"""Distillation with the teacher's logits cached, but under a key that holds the epoch as well."""

import os

import torch
import torch.nn.functional as F
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

device = "cuda"
STEPS = int(os.environ.get("STEPS", 60))
BATCHES = 6


class TeacherCache:
    def __init__(self, teacher):
        self.teacher = teacher.eval()
        self.store = {}

    @torch.no_grad()
    def __call__(self, epoch, idx, x):
        key = (epoch, idx)
        if key not in self.store:
            logits = self.teacher(x)  # leak
            self.store[key] = logits  # leak
        return self.store[key]


def mlp(width):
    return nn.Sequential(nn.Linear(256, width), nn.ReLU(), nn.Linear(width, 2000))


teacher, student = mlp(512).to(device), mlp(64).to(device)
cached = TeacherCache(teacher)
opt = torch.optim.AdamW(student.parameters(), lr=3e-4)
data = TensorDataset(torch.randn(BATCHES * 256, 256), torch.randint(0, 2000, (BATCHES * 256,)))
loader = DataLoader(data, batch_size=256)

T = 4.0
for epoch in range(STEPS // BATCHES):
    for idx, (x, y) in enumerate(loader):
        x, y = x.to(device), y.to(device)
        t = cached(epoch, idx, x)  # leak
        s = student(x)
        kd = F.kl_div(F.log_softmax(s / T, -1), F.softmax(t / T, -1), reduction="batchmean") * T * T
        loss = 0.7 * kd + 0.3 * F.cross_entropy(s, y)
        opt.zero_grad()
        loss.backward()
        opt.step()
        print(f"epoch {epoch} batch {idx} loss {loss.item():.4f}")
