"""Robust accuracy under FGSM: the evaluation needs gradients of the input."""
import torch
import torch.nn.functional as F


def fgsm(net, x, y, eps):
    x = x.clone().requires_grad_(True)
    loss = F.cross_entropy(net(x), y)
    (grad,) = torch.autograd.grad(loss, x)
    return (x + eps * grad.sign()).clamp(0, 1).detach()


def robust_accuracy(net, loader, eps=8 / 255):
    net.eval()
    for p in net.parameters():
        p.requires_grad_(False)
    hits = seen = 0
    for x, y in loader:
        x, y = x.cuda(), y.cuda()
        adv = fgsm(net, x, y, eps)
        with torch.no_grad():
            hits += (net(adv).argmax(1) == y).sum().item()
        seen += len(y)
    return hits / seen


def table(net, loader):
    net = net.cuda()
    for k in (1, 2, 4, 8, 16):
        print(f"eps {k}/255: {robust_accuracy(net, loader, k / 255):.3f}")
