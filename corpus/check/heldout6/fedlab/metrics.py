import torch.nn.functional as F


def evaluate(model, loader, device="cuda"):
    """Accuracy and mean loss of the global model on the held-back data."""
    model.eval()
    correct, n, loss = 0, 0, 0.0
    for x, y in loader:
        x, y = x.to(device), y.to(device)
        out = model(x)
        loss += F.cross_entropy(out, y, reduction="sum")
        correct += (out.argmax(1) == y).sum().item()
        n += y.numel()
    return correct / n, float(loss) / n
