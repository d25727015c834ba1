import torch


def train(model, loader, opt, crit, k=8):
    opt.zero_grad()
    for i, (x, y) in enumerate(loader):
        (crit(model(x.cuda()), y.cuda()) / k).backward()
        if (i + 1) % k == 0 or i + 1 == len(loader):
            opt.step()
            opt.zero_grad()
