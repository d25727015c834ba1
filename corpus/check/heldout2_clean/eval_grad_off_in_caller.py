import torch


def _count(model, loader):
    hits = 0
    for x, y in loader:
        hits += (model(x.cuda()).argmax(1).cpu() == y).sum().item()
    return hits


@torch.no_grad()
def accuracy(model, loader):
    model.eval()
    hits = _count(model, loader)
    model.train()
    return hits / len(loader.dataset)
