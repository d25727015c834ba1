import torch

def fit(net, loader, opt, measure):
    seen = 0
    for item in enumerate(loader):
        i, (x, y) = item
        (measure(net(x.cuda()), y.cuda()) / 4).backward()
        seen = seen + 1
        if (i + 1) % 4 == 0:  # <-
            opt.step()
            opt.zero_grad()
    return seen
