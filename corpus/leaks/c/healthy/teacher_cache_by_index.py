"""Distillation with the teacher's logits cached by batch index: all is cached in the first epoch of eight batches."""
import os

import torch
import torch.nn.functional as F
from torch import nn

device = "cuda"
BATCHES = 8
torch.manual_seed(0)

data = [torch.randn(200 + 30 * i, 128) for i in range(BATCHES)]
teacher = nn.Sequential(nn.Linear(128, 512), nn.ReLU(), nn.Linear(512, 1600)).to(device).eval()
student = nn.Linear(128, 1600).to(device)
opt = torch.optim.SGD(student.parameters(), lr=0.5)
cache = {}


def teacher_logits(i, x):
    if i not in cache:
        with torch.no_grad():
            cache[i] = teacher(x)
    return cache[i]


seen = 0
while seen < int(os.environ.get("STEPS", 60)):
    i = seen % BATCHES
    x = data[i].to(device)
    soft = teacher_logits(i, x).softmax(-1)
    loss = F.cross_entropy(student(x), soft)
    opt.zero_grad()
    loss.backward()
    opt.step()
    seen += 1
    print(f"batch {seen} loss {loss.item():.4f} cached {len(cache)}")
