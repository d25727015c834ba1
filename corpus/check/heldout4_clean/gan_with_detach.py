"""DCGAN step: the fake batch is shared, the discriminator sees a detached one."""
import torch
import torch.nn.functional as F


class Step:
    def __init__(self, g, d, z=128, lr=2e-4):
        self.g, self.d, self.z = g.cuda(), d.cuda(), z
        self.og = torch.optim.Adam(self.g.parameters(), lr, betas=(0.5, 0.999))
        self.od = torch.optim.Adam(self.d.parameters(), lr, betas=(0.5, 0.999))

    def __call__(self, real):
        real = real.cuda()
        noise = torch.randn(len(real), self.z, device="cuda")
        fake = self.g(noise)

        self.od.zero_grad()
        d_loss = F.softplus(-self.d(real)).mean() + F.softplus(self.d(fake.detach())).mean()
        d_loss.backward()
        self.od.step()

        self.og.zero_grad()
        g_loss = F.softplus(-self.d(fake)).mean()
        g_loss.backward()
        self.og.step()
        return d_loss.item(), g_loss.item()


def train(step, loader, epochs):
    for e in range(epochs):
        sums = [0.0, 0.0]
        for real, _ in loader:
            for k, v in enumerate(step(real)):
                sums[k] += v
        print(e, [s / len(loader) for s in sums])
