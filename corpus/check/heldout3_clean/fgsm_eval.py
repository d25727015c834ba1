"""Robust accuracy under FGSM: needs the gradient of the input, so no_grad would be wrong."""
import torch
import torch.nn.functional as F


def fgsm(model, x, y, eps):
    x = x.clone().requires_grad_(True)
    loss = F.cross_entropy(model(x), y)
    (grad,) = torch.autograd.grad(loss, x)
    return (x + eps * grad.sign()).clamp(0, 1).detach()


def robust_accuracy(model, loader, eps=8 / 255, device="cuda"):
    model.eval()
    for p in model.parameters():
        p.requires_grad_(False)
    clean = robust = n = 0
    for x, y in loader:
        x, y = x.to(device), y.to(device)
        adv = fgsm(model, x, y, eps)
        with torch.no_grad():
            clean += (model(x).argmax(1) == y).sum().item()
            robust += (model(adv).argmax(1) == y).sum().item()
        n += len(y)
    return clean / n, robust / n
