import torch
import torch.nn.functional as F


def d_step(G, D, opt_d, real, z):
    with torch.no_grad():
        fake = G(z)
    opt_d.zero_grad()
    loss = F.softplus(D(fake)).mean() + F.softplus(-D(real)).mean()
    loss.backward()
    opt_d.step()
    return loss.item()


def g_step(G, D, opt_g, z):
    opt_g.zero_grad()
    loss = F.softplus(-D(G(z))).mean()
    loss.backward()
    opt_g.step()
    return loss.item()


def train(G, D, opt_g, opt_d, loader, zdim=128):
    for real in loader:
        real = real.cuda()
        z = torch.randn(real.size(0), zdim, device="cuda")
        d = d_step(G, D, opt_d, real, z)
        g = g_step(G, D, opt_g, z)
        print(d, g)
