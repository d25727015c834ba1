"""WGAN with gradient penalty; samples from fixed noise are kept, but the newest ones only."""
import os

import torch
from torch import autograd, nn

device = "cuda"
nz, img = 64, 1024


def mlp(i, o, width=256):
    return nn.Sequential(nn.Linear(i, width), nn.LeakyReLU(0.2), nn.Linear(width, o)).to(device)


def gradient_penalty(D, real, fake):
    eps = torch.rand(real.shape[0], 1, device=device)
    mid = (eps * real + (1 - eps) * fake).requires_grad_(True)
    (g,) = autograd.grad(D(mid).sum(), mid, create_graph=True)
    return ((g.norm(2, dim=1) - 1) ** 2).mean()


G, D = mlp(nz, img), mlp(img, 1)
optG = torch.optim.Adam(G.parameters(), lr=1e-4, betas=(0.0, 0.9))
optD = torch.optim.Adam(D.parameters(), lr=1e-4, betas=(0.0, 0.9))
fixed = torch.randn(512, nz, device=device)
gallery = {}
lossesD, lossesG = [], []

for it in range(int(os.environ.get("STEPS", 60))):
    for _ in range(2):
        real = torch.rand(128, img, device=device)
        fake = G(torch.randn(128, nz, device=device)).detach()
        lossD = D(fake).mean() - D(real).mean() + 10 * gradient_penalty(D, real, fake)
        optD.zero_grad()
        lossD.backward()
        optD.step()
    lossG = -D(G(torch.randn(128, nz, device=device))).mean()
    optG.zero_grad()
    lossG.backward()
    optG.step()
    with torch.no_grad():
        gallery["latest"] = G(fixed)
    lossesD.append(lossD.item())
    lossesG.append(lossG.item())
    print("it", it, "D", lossesD[-1], "G", lossesG[-1])
