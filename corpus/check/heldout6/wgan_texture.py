import torch
from torch import autograd


def penalty(D, real, fake):
    a = torch.rand(real.size(0), 1, 1, 1, device=real.device)
    mix = (a * real + (1 - a) * fake).requires_grad_()
    g, = autograd.grad(D(mix).sum(), mix, create_graph=True)
    return ((g.flatten(1).norm(dim=1) - 1) ** 2).mean()


class Artist:
    def __init__(self, G, D, z=128):
        self.G, self.D, self.z = G.cuda(), D.cuda(), z
        self.og = torch.optim.Adam(G.parameters(), 1e-4)
        self.od = torch.optim.Adam(D.parameters(), 1e-4)
        self.last_fake = None
        self.w_dist = 0

    def critic(self, real):
        noise = torch.randn(len(real), self.z, 1, 1, device="cuda")
        made = self.G(noise)
        w = self.D(made).mean() - self.D(real).mean()
        loss = w + 10 * penalty(self.D, real, made.detach())
        self.od.zero_grad()
        loss.backward()
        self.od.step()
        self.w_dist = -w.item()

    def painter(self, n):
        made = self.G(torch.randn(n, self.z, 1, 1, device="cuda"))
        loss = -self.D(made).mean()
        self.og.zero_grad()
        loss.backward()
        self.og.step()
