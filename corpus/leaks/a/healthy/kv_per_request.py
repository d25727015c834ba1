"""Decoding with a key and value cache that grows with each token and goes with its request."""

import os
import random

import torch
from torch import nn

random.seed(9)
steps = int(os.environ.get("STEPS", 30))
heads, dim = 8, 64

qkv = nn.Linear(heads * dim, 3 * heads * dim).cuda().half()
out = nn.Linear(heads * dim, heads * dim).cuda().half()


@torch.inference_mode()
def generate(prompt, count):
    x, keys, values = prompt, None, None
    for _ in range(count):
        q, k, v = (p.unflatten(-1, (heads, dim)).transpose(1, 2) for p in qkv(x).chunk(3, -1))
        keys = k if keys is None else torch.cat([keys, k], 2)
        values = v if values is None else torch.cat([values, v], 2)
        weights = (q @ keys.transpose(2, 3) / dim**0.5).softmax(-1)
        x = out((weights @ values).transpose(1, 2).flatten(2))[:, -1:]
    return x


for step in range(steps):
    length = random.randint(50, 600)
    prompt = torch.randn(4, length, heads * dim, device="cuda", dtype=torch.half)
    last = generate(prompt, count=random.randint(4, 20))
    print("step", step, "prompt", length, tuple(last.shape))
