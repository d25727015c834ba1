import torch


def clip(model, limit):
    return torch.nn.utils.clip_grad_norm_(model.parameters(), limit)


class Trainer:
    def __init__(self, model, opt):
        self.model, self.opt = model, opt
        self.grad_norms = []

    def step(self, x):
        self.opt.zero_grad()
        self.model(x).mean().backward()
        total = clip(self.model, 0.5)
        self.grad_norms.append(total)  # <-
        self.opt.step()

    def fit(self, loader):
        for x in loader:
            self.step(x)
# ---
import torch
from torch.nn.utils import clip_grad_norm_


def train(model, loader, opt):
    history = {}
    for i, b in enumerate(loader):
        opt.zero_grad()
        model(b).sum().backward()
        history[i] = clip_grad_norm_(model.parameters(), 1.0).detach()  # <-
        opt.step()
    return history
