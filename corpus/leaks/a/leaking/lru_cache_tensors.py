"""An lru_cache keyed by tensors: every call misses, and both key and value stay."""

import functools
import os

import torch
from torch import nn

steps = int(os.environ.get("STEPS", 30))

projection = torch.randn(768, 512, device="cuda")


@functools.lru_cache(maxsize=1024)
def whiten(features):
    centred = features - features.mean(0)
    return centred @ projection  # leak


head = nn.Linear(512, 20).cuda()
opt = torch.optim.SGD(head.parameters(), lr=0.05)

for step in range(steps):
    features = torch.randn(512, 768, device="cuda")  # leak
    labels = torch.randint(0, 20, (512,), device="cuda")
    logits = head(whiten(features))  # leak
    loss = nn.functional.cross_entropy(logits, labels)
    opt.zero_grad()
    loss.backward()
    opt.step()
    print("step", step, whiten.cache_info().currsize)
