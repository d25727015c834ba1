import torch
from torch import nn


class Mean:
    def __init__(self):
        self.total, self.n = 0.0, 0

    def update(self, value, n):
        self.total += float(value) * n
        self.n += n


def train(model, loader, opt):
    meter, smooth = Mean(), None
    for x, y in loader:
        opt.zero_grad()
        loss = nn.functional.mse_loss(model(x.cuda()), y.cuda())
        loss.backward()
        opt.step()
        meter.update(loss, len(x))
        now = loss.detach()
        smooth = now if smooth is None else 0.99 * smooth + 0.01 * now
    return meter.total / meter.n, smooth.item()
