"""Accumulation that steps the rest, too."""
import torch.nn.functional as F


def epoch(net, loader, opt, every):
    net.train()
    opt.zero_grad()
    last = len(loader) - 1
    for i, (x, y) in enumerate(loader):
        group = every if i < len(loader) - len(loader) % every else len(loader) % every
        loss = F.cross_entropy(net(x.cuda()), y.cuda()) / group
        loss.backward()
        if (i + 1) % every == 0 or i == last:
            opt.step()
            opt.zero_grad()
