"""The loop has no no_grad of its own: the public functions carry it."""
import torch
from torch import nn


def _predict_all(net: nn.Module, loader, device):
    net.eval()
    for x, y in loader:
        yield net(x.to(device)).argmax(1).cpu(), y


@torch.inference_mode()
def accuracy(net, loader, device="cuda"):
    good = total = 0
    for p, y in _predict_all(net, loader, device):
        good += (p == y).sum().item()
        total += len(y)
    return good / total


@torch.inference_mode()
def confusion(net, loader, classes, device="cuda"):
    table = torch.zeros(classes, classes, dtype=torch.long)
    for p, y in _predict_all(net, loader, device):
        table.index_put_((y, p), torch.ones_like(y), accumulate=True)
    return table


def report(net, loader, classes):
    print(f"accuracy {accuracy(net, loader):.4f}")
    for c, row in enumerate(confusion(net, loader, classes).tolist()):
        print(c, row)
