import torch
import torch.nn as nn
from torch.utils.data import DataLoader
from torchvision.utils import save_image

from sprites import SpriteSheet
from gan_nets import Discriminator, Generator

Z = 128
G, D = Generator(Z).cuda(), Discriminator().cuda()
opt_g = torch.optim.Adam(G.parameters(), 2e-4, betas=(0.5, 0.999))
opt_d = torch.optim.Adam(D.parameters(), 2e-4, betas=(0.5, 0.999))
bce = nn.BCEWithLogitsLoss()
loader = DataLoader(SpriteSheet("sheets/", size=128), 64, shuffle=True, drop_last=True)
fixed = torch.randn(36, Z, device="cuda")
ones, zeros = torch.ones(64, 1, device="cuda"), torch.zeros(64, 1, device="cuda")

for epoch in range(400):
    for real in loader:
        real = real.cuda()
        # --- discriminator
        fake = G(torch.randn(64, Z, device="cuda"))
        d_loss = bce(D(real), ones) + bce(D(fake), zeros)
        opt_d.zero_grad()
        d_loss.backward()
        opt_d.step()
        # --- generator
        g_loss = bce(D(G(torch.randn(64, Z, device="cuda"))), ones)
        opt_g.zero_grad()
        g_loss.backward()
        opt_g.step()
    with torch.no_grad():
        save_image(G(fixed), f"out/{epoch:03d}.png", nrow=6, normalize=True)
