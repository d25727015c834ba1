"""Gradient surgery: two backward passes over one graph, the first must retain it."""
import torch
import torch.nn.functional as F


def grads_of(model):
    return [p.grad.detach().clone() if p.grad is not None else None for p in model.parameters()]


def step(model, x, y_cls, y_reg, opt):
    cls, reg = model(x)
    l1 = F.cross_entropy(cls, y_cls)
    l2 = F.smooth_l1_loss(reg.squeeze(-1), y_reg)
    opt.zero_grad()
    l1.backward(retain_graph=True)
    g1 = grads_of(model)
    opt.zero_grad()
    l2.backward()
    for p, a in zip(model.parameters(), g1):
        if a is None:
            continue
        if p.grad is None:
            p.grad = a
            continue
        dot = (a * p.grad).sum()
        if dot < 0:
            p.grad.sub_(dot / a.pow(2).sum().clamp(min=1e-12) * a)
        p.grad.add_(a)
    opt.step()
    return l1.item(), l2.item()


def train(model, loader, epochs):
    model.cuda().train()
    opt = torch.optim.Adam(model.parameters(), lr=1e-4)
    for epoch in range(epochs):
        for x, yc, yr in loader:
            values = step(model, x.cuda(), yc.cuda(), yr.cuda(), opt)
        print(epoch, values)
