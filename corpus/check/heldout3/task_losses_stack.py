import torch
from torch import nn


class MultiSite(nn.Module):
    """One trunk, one head per hospital."""

    def __init__(self, trunk, width, sites):
        super().__init__()
        self.trunk = trunk
        self.heads = nn.ModuleDict({s: nn.Linear(width, 1) for s in sites})

    def forward(self, x, site):
        return self.heads[site](self.trunk(x)).squeeze(-1)


def round_robin(model, iters, optimizer, device):
    """One step over a batch from every site (twelve of them)."""
    losses = []
    for site, it in iters.items():
        x, y = next(it)
        out = model(x.to(device), site)
        losses.append(nn.functional.binary_cross_entropy_with_logits(out, y.float().to(device)))
    loss = torch.stack(losses).mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    return {s: l.item() for s, l in zip(iters, losses)}


def forever(loader):
    while True:
        yield from loader


def fit(model, loaders, steps, device="cuda"):
    model.to(device)
    opt = torch.optim.AdamW(model.parameters(), lr=2e-4)
    iters = {s: forever(l) for s, l in loaders.items()}
    for step in range(steps):
        out = round_robin(model, iters, opt, device)
        if step % 200 == 0:
            print(step, " ".join(f"{k}={v:.3f}" for k, v in out.items()))
