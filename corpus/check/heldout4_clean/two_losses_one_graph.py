"""Gradient surgery: two tasks share one forward pass, so the first backward keeps the graph."""
import torch
import torch.nn.functional as F


def grads_of(params):
    return [p.grad.clone() if p.grad is not None else None for p in params]


def surgery_step(net, opt, x, y_cls, y_reg):
    shared = [p for p in net.trunk.parameters()]
    cls, reg = net(x)
    l1 = F.cross_entropy(cls, y_cls)
    l2 = F.smooth_l1_loss(reg, y_reg)

    opt.zero_grad()
    l1.backward(retain_graph=True)
    first = grads_of(shared)
    for p in shared:
        p.grad = None
    l2.backward()

    with torch.no_grad():
        for p, g in zip(shared, first):
            if g is None or p.grad is None:
                continue
            dot = (g * p.grad).sum()
            if dot < 0:
                g -= dot / p.grad.pow(2).sum().clamp(min=1e-12) * p.grad
            p.grad += g
    opt.step()
    return l1.item(), l2.item()


def fit(net, loader, epochs=5):
    net = net.cuda()
    opt = torch.optim.Adam(net.parameters(), 1e-4)
    for e in range(epochs):
        for x, a, b in loader:
            losses = surgery_step(net, opt, x.cuda(), a.cuda(), b.cuda())
        print(e, losses)
