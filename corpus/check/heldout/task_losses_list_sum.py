import torch
from torch import nn


class MultiDomain:
    def __init__(self, net, opt, loaders):
        self.net, self.opt, self.loaders = net, opt, loaders
        self.ce = nn.CrossEntropyLoss()

    def update(self):
        self.opt.zero_grad()
        losses = []
        for loader in self.loaders.values():
            x, y = next(loader)
            losses.append(self.ce(self.net(x.cuda()), y.cuda()))
        total = torch.stack(losses).mean()
        total.backward()
        self.opt.step()
        return total.item()

    def fit(self, steps):
        for s in range(steps):
            value = self.update()
            if s % 100 == 0:
                print(s, value)
