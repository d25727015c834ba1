import torch
import torch.nn.functional as F


@torch.no_grad()
def evaluate(model, loader, device):
    model.eval()
    total, n = 0, 0
    for x, y in loader:
        out = model(x.to(device))
        total += F.cross_entropy(out, y.to(device), reduction="sum")
        n += len(y)
    model.train()
    return (total / n).item()
