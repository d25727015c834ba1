"""Image classification; every number that is kept is a Python float."""
from collections import defaultdict

import torch
import torch.nn.functional as F


class Averager:
    def __init__(self):
        self.values = defaultdict(list)

    def put(self, key, value):
        self.values[key].append(value)

    def mean(self, key):
        return sum(self.values[key]) / len(self.values[key])


def train(net, loader, epochs, device="cuda"):
    net.to(device).train()
    opt = torch.optim.AdamW(net.parameters(), lr=1e-3)
    for epoch in range(epochs):
        avg = Averager()
        for x, y in loader:
            x, y = x.to(device), y.to(device)
            opt.zero_grad()
            out = net(x)
            ce = F.cross_entropy(out, y)
            reg = out.pow(2).mean()
            loss = ce + 1e-4 * reg
            loss.backward()
            opt.step()
            avg.put("ce", ce.item())
            avg.put("reg", float(reg))
            avg.put("loss", loss.detach().cpu().item())
        print(epoch, avg.mean("ce"), avg.mean("reg"), avg.mean("loss"))
