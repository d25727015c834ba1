import torch
from torchmetrics.classification import BinaryAUROC


@torch.no_grad()
def auc(model, loader, device="cuda"):
    model.eval()
    logits, labels = [], []
    for x, y in loader:
        logits.append(model(x.to(device)).squeeze(1))
        labels.append(y.to(device))
    metric = BinaryAUROC().to(device)
    return metric(torch.cat(logits), torch.cat(labels)).item()
