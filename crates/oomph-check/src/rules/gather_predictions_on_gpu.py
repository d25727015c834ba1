# --- bad
import torch

@torch.no_grad()
def evaluate(model, loader):
    logits = []
    for x, _ in loader:
        logits.append(model(x.cuda()))
    return torch.cat(logits)
# --- good
import torch

@torch.no_grad()
def evaluate(model, loader):
    logits = []
    for x, _ in loader:
        logits.append(model(x.cuda()).cpu())
    return torch.cat(logits)
# --- silent
import torch

@torch.no_grad()
def evaluate(model, loader):
    labels = []
    for x, _ in loader:
        labels.append(model(x.cuda()).argmax(1))
    return torch.cat(labels)
# --- silent
import torch

@torch.no_grad()
def evaluate(model, loader):
    seen = []
    for x, _ in loader:
        out = model(x.cuda())
        seen.append(out.cpu().numpy())
    return seen
