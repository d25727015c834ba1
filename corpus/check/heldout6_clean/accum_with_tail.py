import torch
import torch.nn.functional as F


def train(net, loader, opt, accum):
    net.train()
    last = len(loader) - 1
    opt.zero_grad()
    for i, (x, y) in enumerate(loader):
        loss = F.cross_entropy(net(x.cuda()), y.cuda()) / accum
        loss.backward()
        if (i + 1) % accum == 0 or i == last:
            opt.step()
            opt.zero_grad()
