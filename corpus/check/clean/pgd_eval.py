import torch
import torch.nn.functional as F


def pgd(model, x, y, eps=8 / 255, alpha=2 / 255, steps=10):
    adv = (x + torch.empty_like(x).uniform_(-eps, eps)).detach()
    for _ in range(steps):
        adv.requires_grad_(True)
        loss = F.cross_entropy(model(adv), y)
        grad = torch.autograd.grad(loss, adv)[0]
        adv = (adv.detach() + alpha * grad.sign()).clamp(x - eps, x + eps)
    return adv.detach()


def robust_accuracy(model, loader):
    model.eval()
    hit = n = 0
    for x, y in loader:
        x, y = x.cuda(), y.cuda()
        adv = pgd(model, x, y)
        with torch.no_grad():
            hit += (model(adv).argmax(1) == y).sum().item()
        n += len(y)
    return hit / n
