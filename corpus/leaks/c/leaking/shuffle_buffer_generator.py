"""A shuffling generator on the card: it draws from the buffer, yet what it draws stays in."""
import os
import random

import torch
from torch import nn

device = "cuda"


def source(n):
    for _ in range(n):
        yield torch.randn(768, 512), torch.randn(768, 1)


def to_device(it):
    for x, y in it:
        yield x.to(device), y.to(device)  # leak


def shuffled(it, size=4, seed=0):
    rng = random.Random(seed)
    buf = []
    for item in it:  # leak
        buf.append(item)  # leak
        if len(buf) >= size:
            yield rng.choice(buf)
    rng.shuffle(buf)


model = nn.Sequential(nn.Linear(512, 128), nn.Tanh(), nn.Linear(128, 1)).to(device)
opt = torch.optim.SGD(model.parameters(), lr=1e-2)
steps = int(os.environ.get("STEPS", 60))

for i, (x, y) in enumerate(shuffled(to_device(source(steps + 3)))):  # leak
    loss = nn.functional.l1_loss(model(x), y)
    opt.zero_grad()
    loss.backward()
    opt.step()
    print(f"{i:5d} {loss.item():.5f}")
