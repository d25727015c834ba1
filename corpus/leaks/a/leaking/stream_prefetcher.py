"""A prefetcher that keeps the copies it made on its side stream."""

import os

import torch
from torch import nn

steps = int(os.environ.get("STEPS", 30))


class Prefetcher:
    def __init__(self, batches):
        self.batches = batches
        self.stream = torch.cuda.Stream()
        self.in_flight = []

    def __iter__(self):
        for x, y in self.batches:
            with torch.cuda.stream(self.stream):
                x = x.cuda(non_blocking=True)  # leak
                y = y.cuda(non_blocking=True)
            done = self.stream.record_event()
            self.in_flight.append((done, x, y))  # leak
            torch.cuda.current_stream().wait_event(done)
            yield x, y


def batches():
    for _ in range(steps):
        yield torch.randn(512, 768), torch.randint(0, 5, (512,))


model = nn.Linear(768, 5).cuda()
opt = torch.optim.SGD(model.parameters(), lr=0.1)
for step, (x, y) in enumerate(Prefetcher(batches())):  # leak
    loss = nn.functional.cross_entropy(model(x), y)
    opt.zero_grad()
    loss.backward()
    opt.step()
    print("step", step, "loss", loss.item())
