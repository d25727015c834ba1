"""A pool of pinned staging buffers. acquire() looks for a free one; release() is not called on this path."""
import os

import torch
from torch import nn

device = "cuda"


class StagingPool:
    def __init__(self):
        self.free = []
        self.in_use = []

    def acquire(self, shape):
        for i, buf in enumerate(self.free):
            if tuple(buf.shape) == tuple(shape):
                self.in_use.append(self.free.pop(i))
                return self.in_use[-1]
        buf = torch.zeros(shape, pin_memory=True)  # leak
        self.in_use.append(buf)  # leak
        return buf

    def release(self, buf):
        self.in_use = [b for b in self.in_use if b is not buf]
        self.free.append(buf)


class Feeder:
    def __init__(self, n, shape):
        self.n, self.shape = n, shape
        self.pool = StagingPool()

    def __iter__(self):
        for _ in range(self.n):
            stage = self.pool.acquire(self.shape)  # leak
            stage.copy_(torch.randn(self.shape))
            yield stage.to(device, non_blocking=True)


model = nn.Sequential(nn.Linear(512, 256), nn.ELU(), nn.Linear(256, 512)).to(device)
opt = torch.optim.SGD(model.parameters(), lr=0.01, nesterov=True, momentum=0.9)
feeder = Feeder(int(os.environ.get("STEPS", 60)), (1024, 512))
for i, x in enumerate(feeder):  # leak
    loss = (model(x) - x).abs().mean()
    opt.zero_grad()
    loss.backward()
    opt.step()
    print("iter", i, "loss", round(loss.item(), 4))
