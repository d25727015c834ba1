"""Small fully connected GAN; every batch of fakes goes on a wall to make a film of the training afterwards."""
import os

import torch
import torch.nn as nn

device = "cuda"
n_iters = int(os.environ.get("STEPS", 60))
nz, img = 100, 3 * 64 * 64


class Generator(nn.Module):
    def __init__(self):
        super().__init__()
        self.main = nn.Sequential(
            nn.Linear(nz, 128), nn.BatchNorm1d(128), nn.ReLU(True),
            nn.Linear(128, img), nn.Tanh(),
        )

    def forward(self, z):
        return self.main(z).view(-1, 3, 64, 64)  # leak


class Discriminator(nn.Module):
    def __init__(self):
        super().__init__()
        self.main = nn.Sequential(nn.Flatten(), nn.Linear(img, 64), nn.LeakyReLU(0.2), nn.Linear(64, 1))

    def forward(self, x):
        return self.main(x)


netG, netD = Generator().to(device), Discriminator().to(device)
optG = torch.optim.Adam(netG.parameters(), lr=2e-4, betas=(0.5, 0.999))
optD = torch.optim.Adam(netD.parameters(), lr=2e-4, betas=(0.5, 0.999))
criterion = nn.BCEWithLogitsLoss()

wall = []
for i in range(n_iters):
    real = torch.rand(48, 3, 64, 64, device=device) * 2 - 1
    ones = torch.ones(48, 1, device=device)
    zeros = torch.zeros(48, 1, device=device)

    # (1) update D
    fake = netG(torch.randn(48, nz, device=device))  # leak
    optD.zero_grad()
    errD = criterion(netD(real), ones) + criterion(netD(fake.detach()), zeros)
    errD.backward()
    optD.step()

    # (2) update G
    optG.zero_grad()
    errG = criterion(netD(fake), ones)
    errG.backward()
    optG.step()

    wall.append((i, fake))  # leak
    print("[%d/%d] Loss_D: %.4f Loss_G: %.4f" % (i, n_iters, errD.item(), errG.item()))
