"""Position encodings are cached by length, and lengths come from a handful of buckets."""

import functools
import math
import os
import random

import torch
from torch import nn

random.seed(7)
steps = int(os.environ.get("STEPS", 30))


@functools.lru_cache(maxsize=None)
def positions(length, width):
    at = torch.arange(length, device="cuda")[:, None]
    rate = torch.exp(torch.arange(0, width, 2, device="cuda") * (-math.log(10000.0) / width))
    table = torch.zeros(length, width, device="cuda")
    table[:, 0::2] = torch.sin(at * rate)
    table[:, 1::2] = torch.cos(at * rate)
    return table


layer = nn.TransformerEncoderLayer(512, 8, 1024, batch_first=True).cuda()
opt = torch.optim.SGD(layer.parameters(), lr=0.01)

for step in range(steps):
    length = random.choice([64, 128, 256, 512])
    x = torch.randn(4, length, 512, device="cuda") + positions(length, 512)
    loss = layer(x).square().mean()
    opt.zero_grad()
    loss.backward()
    opt.step()
    print("step", step, "bucket", length, "cached", positions.cache_info().currsize)
