import torch
import torch.nn.functional as F


def pgd(model, x, y, eps=8 / 255, alpha=2 / 255, steps=10):
    delta = torch.zeros_like(x, requires_grad=True)
    for _ in range(steps):
        loss = F.cross_entropy(model(x + delta), y)
        (g,) = torch.autograd.grad(loss, delta)
        delta = (delta + alpha * g.sign()).clamp(-eps, eps).detach().requires_grad_()
    return (x + delta).detach()


def robust_accuracy(model, loader, device="cuda"):
    model.eval()
    hit = n = 0
    for x, y in loader:
        x, y = x.to(device), y.to(device)
        adv = pgd(model, x, y)
        with torch.no_grad():
            hit += (model(adv).argmax(1) == y).sum().item()
        n += len(y)
    return hit / n
