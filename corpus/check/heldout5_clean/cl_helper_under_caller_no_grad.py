import torch


def _batch_hits(net, x, y):
    return (net(x).argmax(1) == y).sum().item()


def _walk(net, loader, device):
    hits = total = 0
    for x, y in loader:
        hits += _batch_hits(net, x.to(device), y.to(device))
        total += len(y)
    return hits / total


@torch.no_grad()
def evaluate(net, loader, device="cuda"):
    was = net.training
    net.eval()
    acc = _walk(net, loader, device)
    net.train(was)
    return acc
