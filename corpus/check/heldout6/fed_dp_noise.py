"""Differentially private clients: clip per-example gradients, add noise."""
import torch
from torch import nn


def wipe(model):
    for p in model.parameters():
        if p.grad is not None:
            p.grad.data.zero_()


def private_step(model, crit, xb, yb, opt, clip, sigma):
    sums = [torch.zeros_like(p) for p in model.parameters()]
    for x, y in zip(xb, yb):
        wipe(model)
        crit(model(x[None]), y[None]).backward()
        norm = torch.sqrt(sum(p.grad.pow(2).sum() for p in model.parameters()))
        k = (clip / (norm + 1e-6)).clamp(max=1)
        for s, p in zip(sums, model.parameters()):
            s.add_(p.grad, alpha=k.item())
    for s, p in zip(sums, model.parameters()):
        p.grad = (s + sigma * clip * torch.randn_like(s)) / len(xb)
    opt.step()


def client_round(model, loader, epochs, clip=1.0, sigma=0.8):
    opt = torch.optim.SGD(model.parameters(), lr=0.05)
    crit = nn.CrossEntropyLoss()
    for _ in range(epochs):
        for xb, yb in loader:
            private_step(model, crit, xb.cuda(), yb.cuda(), opt, clip, sigma)
    return {k: v.cpu() for k, v in model.state_dict().items()}
