import torch
import torch.nn.functional as F


def step(G, D, real, og, od, zdim):
    fake = G(torch.randn(real.size(0), zdim, device=real.device))
    ld = F.softplus(D(fake.detach())).mean() + F.softplus(-D(real)).mean()
    od.zero_grad()
    ld.backward()
    od.step()
    lg = F.softplus(-D(fake)).mean()
    og.zero_grad()
    lg.backward()
    og.step()
    return ld.item(), lg.item()


def train(G, D, loader, epochs, zdim=128):
    og = torch.optim.Adam(G.parameters(), 2e-4)
    od = torch.optim.Adam(D.parameters(), 2e-4)
    curve = []
    for _ in range(epochs):
        for real, _ in loader:
            curve.append(step(G, D, real.cuda(), og, od, zdim))
    return curve
