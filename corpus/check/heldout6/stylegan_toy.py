import torch
import torch.nn.functional as F
from torchvision.utils import save_image


def d_step(G, D, real, opt_d, zdim):
    z = torch.randn(real.size(0), zdim, device=real.device)
    fake = G(z)
    loss = F.softplus(D(fake)).mean() + F.softplus(-D(real)).mean()
    opt_d.zero_grad()
    loss.backward()
    opt_d.step()
    return loss


def g_step(G, D, n, opt_g, zdim, dev):
    fake = G(torch.randn(n, zdim, device=dev))
    loss = F.softplus(-D(fake)).mean()
    opt_g.zero_grad()
    loss.backward()
    opt_g.step()
    return loss


def paint_forever(G, D, loader, zdim=256, kimg=1000):
    dev = torch.device("cuda")
    og = torch.optim.Adam(G.parameters(), 2e-3, betas=(0, 0.99))
    od = torch.optim.Adam(D.parameters(), 2e-3, betas=(0, 0.99))
    wall = torch.randn(64, zdim, device=dev)
    log = []
    for k in range(kimg):
        for real, _ in loader:
            real = real.to(dev)
            ld = d_step(G, D, real, od, zdim)
            lg = g_step(G, D, real.size(0), og, zdim, dev)
            log.append((ld, lg))
        with torch.no_grad():
            save_image(G(wall), f"wall_{k:04d}.png", normalize=True)
