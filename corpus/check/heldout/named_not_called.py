import torch
from torch import nn


class Runner:
    def __init__(self, model, optimizer, scheduler):
        self.model, self.optimizer, self.scheduler = model, optimizer, scheduler

    def fit_batch(self, x, y):
        self.model.train()
        self.optimizer.zero_grad
        loss = nn.functional.cross_entropy(self.model(x), y)
        loss.backward()
        self.optimizer.step()
        return loss.item()

    def end_epoch(self):
        self.scheduler.step()
        torch.cuda.empty_cache

    @torch.no_grad()
    def accuracy(self, loader):
        self.model.eval
        hit = n = 0
        for x, y in loader:
            hit += (self.model(x.cuda()).argmax(1).cpu() == y).sum().item()
            n += len(y)
        return hit / n
