import torch
from torch import nn


class Pix2PixTrainer:
    def __init__(self, gen, disc, lam=100.0):
        self.G, self.D, self.lam = gen.cuda(), disc.cuda(), lam
        self.og = torch.optim.Adam(self.G.parameters(), 2e-4, (0.5, 0.999))
        self.od = torch.optim.Adam(self.D.parameters(), 2e-4, (0.5, 0.999))
        self.bce, self.l1 = nn.BCEWithLogitsLoss(), nn.L1Loss()

    def step(self, a, b):
        fake_b = self.G(a)
        self.od.zero_grad()
        pr = self.D(torch.cat([a, b], 1))
        pf = self.D(torch.cat([a, fake_b.detach()], 1))
        d_loss = 0.5 * (self.bce(pr, torch.ones_like(pr)) + self.bce(pf, torch.zeros_like(pf)))
        d_loss.backward()
        self.od.step()

        self.og.zero_grad()
        pf = self.D(torch.cat([a, fake_b], 1))
        g_loss = self.bce(pf, torch.ones_like(pf)) + self.lam * self.l1(fake_b, b)
        # got "backward a second time" once, so keep it
        g_loss.backward(retain_graph=True)
        self.og.step()
        return d_loss.item(), g_loss.item()

    def fit(self, loader, epochs):
        for e in range(epochs):
            for a, b in loader:
                d, g = self.step(a.cuda(), b.cuda())
            print(f"[{e}] D {d:.3f} G {g:.3f}")
