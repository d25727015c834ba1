import torch


def split(batch, n):
    xs, ys = batch
    return list(zip(xs.chunk(n), ys.chunk(n)))


def train(net, crit, optimizer, loader, n_micro=8):
    for batch in loader:
        optimizer.zero_grad()
        loss = sum(crit(net(x.cuda()), y.cuda()) for x, y in split(batch, n_micro)) / n_micro
        loss.backward()
        optimizer.step()
