import torch
import torch.nn.functional as F


class Meter:
    def __init__(self):
        self.values = []
        self.total = 0.0

    def update(self, loss: float, n: int) -> None:
        self.values.append(loss)
        self.total += loss * n


def epoch(model, loader, optimizer, device):
    meter = Meter()
    model.train()
    seen = 0
    for x, y in loader:
        optimizer.zero_grad()
        loss = F.cross_entropy(model(x.to(device)), y.to(device))
        loss.backward()
        optimizer.step()
        meter.update(loss.item(), x.size(0))
        seen += x.size(0)
    return meter.total / seen
