"""A streaming job whose batches have whatever size the stream gave."""

import os
import random

import torch
from torch import nn

random.seed(5)
steps = int(os.environ.get("STEPS", 30))

net = nn.Sequential(nn.Linear(512, 2048), nn.GELU(), nn.Linear(2048, 512)).cuda()
opt = torch.optim.SGD(net.parameters(), lr=0.1)


def stream():
    while True:
        yield torch.randn(int(random.lognormvariate(5.5, 0.8)) + 1, 512)


for step, x in zip(range(steps), stream()):
    x = x.cuda()
    out = net(x)
    loss = (out - x).square().mean()
    opt.zero_grad()
    loss.backward()
    opt.step()
    print(f"step {step}: {len(x)} rows, loss {loss.item():.4f}")
