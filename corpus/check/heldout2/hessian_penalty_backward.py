import torch
import torch.nn.functional as F


def sharpness_step(net, x, y, opt, weight=0.1):
    opt.zero_grad()
    loss = F.cross_entropy(net(x), y)
    loss.backward(create_graph=True)
    penalty = sum(p.grad.pow(2).sum() for p in net.parameters())
    (weight * penalty).backward()
    opt.step()
    return loss.item()


def train(net, loader, opt):
    for x, y in loader:
        print(sharpness_step(net, x.cuda(), y.cuda(), opt))
