import torch
import torch.nn.functional as F


def pgd(model, x, y, eps=8 / 255, alpha=2 / 255, steps=10):
    model.eval()
    adv = x.clone()
    for _ in range(steps):
        adv.requires_grad_(True)
        loss = F.cross_entropy(model(adv), y)
        (g,) = torch.autograd.grad(loss, adv)
        adv = (x + (adv.detach() + alpha * g.sign() - x).clamp(-eps, eps)).clamp(0, 1)
    return adv.detach()
