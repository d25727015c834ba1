import torch
from torch import nn


def _predict(net: nn.Module, batch: torch.Tensor) -> torch.Tensor:
    """Called by `validate` only, which has gradients off."""
    return net(batch).softmax(1)


def _accuracy(net, loader, device):
    hits = n = 0
    for x, y in loader:
        p = _predict(net, x.to(device))
        hits += (p.argmax(1).cpu() == y).sum().item()
        n += len(y)
    return hits / n


@torch.inference_mode()
def validate(net, loader, device="cuda"):
    was = net.training
    net.eval()
    acc = _accuracy(net, loader, device)
    net.train(was)
    return acc


def fit(net, train_loader, val_loader, epochs, device="cuda"):
    net.to(device)
    opt = torch.optim.SGD(net.parameters(), 0.1, momentum=0.9)
    for epoch in range(epochs):
        net.train()
        for x, y in train_loader:
            opt.zero_grad()
            loss = nn.functional.cross_entropy(net(x.to(device)), y.to(device))
            loss.backward()
            opt.step()
        print(epoch, loss.item(), validate(net, val_loader, device))
