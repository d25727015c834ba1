"""Accumulation where the rest of the epoch is stepped as well."""
import torch
import torch.nn.functional as F


def train_epoch(net, loader, opt, every):
    net.train()
    opt.zero_grad()
    total, n = 0.0, len(loader)
    for i, (x, y) in enumerate(loader):
        group = min(every, n - i // every * every)
        loss = F.cross_entropy(net(x.cuda()), y.cuda())
        (loss / group).backward()
        total += loss.item()
        if (i + 1) % every == 0 or i + 1 == n:
            torch.nn.utils.clip_grad_norm_(net.parameters(), 1.0)
            opt.step()
            opt.zero_grad()
    return total / n


@torch.no_grad()
def accuracy(net, loader):
    net.eval()
    hits = seen = 0
    for x, y in loader:
        hits += (net(x.cuda()).argmax(1).cpu() == y).sum().item()
        seen += len(y)
    return hits / seen


def fit(net, train, test, epochs=10, every=8):
    net = net.cuda()
    opt = torch.optim.AdamW(net.parameters(), 1e-3)
    for e in range(epochs):
        print(e, train_epoch(net, train, opt, every), accuracy(net, test))
