import torch
from torch import nn


def to_host(model: nn.Module) -> dict[str, torch.Tensor]:
    return {k: v.detach().cpu().clone() for k, v in model.state_dict().items()}


@torch.no_grad()
def accuracy(model, loader, device):
    model.eval()
    hits = n = 0
    for x, y in loader:
        hits += (model(x.to(device)).argmax(1).cpu() == y).sum().item()
        n += len(y)
    return hits / n


def fit(model, train, val, epochs, device="cuda", patience=5):
    model.to(device)
    opt = torch.optim.AdamW(model.parameters(), lr=3e-4)
    best, best_weights, bad = -1.0, None, 0
    for _ in range(epochs):
        model.train()
        for x, y in train:
            opt.zero_grad()
            loss = nn.functional.cross_entropy(model(x.to(device)), y.to(device))
            loss.backward()
            opt.step()
        acc = accuracy(model, val, device)
        if acc > best:
            best, best_weights, bad = acc, to_host(model), 0
        else:
            bad += 1
        if bad >= patience:
            break
    if best_weights is not None:
        model.load_state_dict(best_weights)
    return best
