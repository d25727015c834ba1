import torch
import torch.nn.functional as F


def d_loss(D, real, fake):
    return F.softplus(-D(real)).mean() + F.softplus(D(fake.detach())).mean()


def g_loss(D, fake):
    return F.softplus(-D(fake)).mean()


def train(G, D, loader, z_dim=128, epochs=100, device="cuda"):
    opt_g = torch.optim.Adam(G.parameters(), 2e-4, betas=(0.0, 0.99))
    opt_d = torch.optim.Adam(D.parameters(), 2e-4, betas=(0.0, 0.99))
    for epoch in range(epochs):
        sums = [0.0, 0.0]
        for real in loader:
            real = real.to(device)
            fake = G(torch.randn(len(real), z_dim, device=device))

            ld = d_loss(D, real, fake)
            opt_d.zero_grad()
            ld.backward()
            opt_d.step()

            lg = g_loss(D, fake)
            opt_g.zero_grad()
            lg.backward()
            opt_g.step()
            sums[0] += ld.item()
            sums[1] += lg.item()
        print(epoch, [s / len(loader) for s in sums])
