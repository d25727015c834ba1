import torch

from gpu import free_memory


def fit(model, loader, opt, crit):
    for x, y in loader:
        opt.zero_grad()
        loss = crit(model(x.cuda()), y.cuda())
        loss.backward()
        opt.step()
        free_memory()
