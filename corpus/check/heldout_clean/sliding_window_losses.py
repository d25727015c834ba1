from collections import deque

import torch
from torch import nn


def detect_spikes(model, loader, opt, window=100, factor=3.0):
    recent = deque(maxlen=window)
    spikes = []
    for step, (x, y) in enumerate(loader):
        opt.zero_grad()
        loss = nn.functional.cross_entropy(model(x.cuda()), y.cuda())
        loss.backward()
        opt.step()
        value = loss.item()
        if recent and value > factor * sum(recent) / len(recent):
            spikes.append((step, value))
        recent.append(value)
    return spikes
