import torch
import torch.nn.functional as F


def fgsm(net, x, y, eps):
    x = x.clone().requires_grad_(True)
    g, = torch.autograd.grad(F.cross_entropy(net(x), y), x)
    return (x + eps * g.sign()).clamp(0, 1).detach()


def robust_accuracy(net, loader, eps=8 / 255):
    net.cuda().eval().requires_grad_(False)
    good = n = 0
    for x, y in loader:
        x, y = x.cuda(), y.cuda()
        adv = fgsm(net, x, y, eps)
        with torch.no_grad():
            good += (net(adv).argmax(1) == y).sum().item()
        n += len(y)
    return good / n
