import torch
from torch import nn
import torch.nn.functional as F
from torch.utils.checkpoint import checkpoint


class Dynamics(nn.Module):
    def __init__(self, d=1024, n=12):
        super().__init__()
        self.blocks = nn.ModuleList(nn.Sequential(nn.LayerNorm(d), nn.Linear(d, 4 * d), nn.GELU(), nn.Linear(4 * d, d)) for _ in range(n))
        self.out = nn.Linear(d, d)
        self.features = None

    def forward(self, z):
        for b in self.blocks:
            z = z + checkpoint(b, z)
        self.features = z
        return self.out(z)


def imagine(model, z, horizon):
    """Open-loop prediction error per step, for the plot in section 5."""
    errs = []
    model.eval()
    for k in range(horizon):
        z_hat = model(z[:, k])
        errs.append(F.mse_loss(z_hat, z[:, k + 1]))
    return torch.stack(errs)


def train(model, loader, epochs):
    opt = torch.optim.AdamW(model.parameters(), 1e-4)
    for e in range(epochs):
        model.train()
        for z in loader:
            z = z.cuda()
            opt.zero_grad()
            loss = F.mse_loss(model(z[:, :-1].flatten(0, 1)), z[:, 1:].flatten(0, 1))
            loss.backward()
            opt.step()
        print(e, imagine(model, z, 15).tolist())
