import torch

from meters import Average


def train_epoch(model, loader, opt, crit):
    meter = Average()
    model.train()
    for x, y in loader:
        opt.zero_grad()
        loss = crit(model(x.cuda()), y.cuda())
        loss.backward()
        opt.step()
        meter.add(loss, len(x))
    return meter.mean


@torch.no_grad()
def valid_epoch(model, loader, crit):
    meter = Average()
    model.eval()
    for x, y in loader:
        meter.add(crit(model(x.cuda()), y.cuda()), len(x))
    return meter.mean
