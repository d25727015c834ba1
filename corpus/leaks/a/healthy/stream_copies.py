"""Copies on a side stream, handed over with record_stream."""

import os

import torch
from torch import nn

steps = int(os.environ.get("STEPS", 30))
side = torch.cuda.Stream()


def prefetched(batches):
    following = None
    for x, y in batches:
        with torch.cuda.stream(side):
            x, y = x.pin_memory().cuda(non_blocking=True), y.cuda(non_blocking=True)
        if following is not None:
            yield following
        torch.cuda.current_stream().wait_stream(side)
        x.record_stream(torch.cuda.current_stream())
        following = x, y
    yield following


batches = ((torch.randn(256, 1500), torch.randint(0, 9, (256,))) for _ in range(steps))
model = nn.Sequential(nn.Linear(1500, 300), nn.ReLU(), nn.Linear(300, 9)).cuda()
opt = torch.optim.Adam(model.parameters())
for step, (x, y) in enumerate(prefetched(batches)):
    loss = nn.functional.cross_entropy(model(x), y)
    opt.zero_grad()
    loss.backward()
    opt.step()
    print("step", step, loss.item())
