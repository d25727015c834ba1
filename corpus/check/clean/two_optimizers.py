import torch


def train(G, D, loader, opt_g, opt_d, bce, d_every=2):
    for i, real in enumerate(loader):
        real = real.cuda()
        fake = G(torch.randn(len(real), 64, device="cuda"))
        if i % d_every == 0:
            opt_d.zero_grad()
            d = bce(D(real), torch.ones(len(real), 1, device="cuda")) + bce(D(fake.detach()), torch.zeros(len(real), 1, device="cuda"))
            d.backward()
            opt_d.step()
        opt_g.zero_grad()
        g = bce(D(fake), torch.ones(len(real), 1, device="cuda"))
        g.backward()
        opt_g.step()
