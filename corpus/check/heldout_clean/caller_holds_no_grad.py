import torch


def _score(model, loader, device):
    hit = n = 0
    for x, y in loader:
        hit += (model(x.to(device)).argmax(1).cpu() == y).sum().item()
        n += len(y)
    return hit / n


def evaluate(model, splits, device="cuda"):
    model.eval()
    with torch.no_grad():
        return {name: _score(model, loader, device) for name, loader in splits.items()}
