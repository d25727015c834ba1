from collections import deque

import torch


class SmoothedValue:
    """Window of recent values, as in the detection references."""

    def __init__(self, window=1000):
        self.window = deque(maxlen=window)

    def add(self, v):
        self.window.append(v)

    @property
    def mean(self):
        return torch.stack(list(self.window)).mean()


def train_epoch(detector, optimizer, loader):
    meter = deque(maxlen=2000)
    detector.train()
    for images, targets in loader:
        images = [im.cuda() for im in images]
        targets = [{k: v.cuda() for k, v in t.items()} for t in targets]
        loss_dict = detector(images, targets)
        total = sum(loss_dict.values())
        optimizer.zero_grad()
        total.backward()
        optimizer.step()
        meter.append(total)
    return torch.stack(tuple(meter)).mean().item()
