import torch
from torch import nn


def train(G, D, loader, z_dim=128, device="cuda"):
    opt_g = torch.optim.Adam(G.parameters(), 1e-4, betas=(0.0, 0.9))
    opt_d = torch.optim.Adam(D.parameters(), 4e-4, betas=(0.0, 0.9))
    for real, _ in loader:
        real = real.to(device)
        z = torch.randn(real.size(0), z_dim, device=device)
        fake = G(z)
        d_loss = nn.functional.relu(1 - D(real)).mean() + nn.functional.relu(1 + D(fake)).mean()
        opt_d.zero_grad()
        d_loss.backward()
        opt_d.step()

        g_loss = -D(G(torch.randn_like(z))).mean()
        opt_g.zero_grad()
        g_loss.backward()
        opt_g.step()
