"""DCGAN, 64x64 anime faces."""
import argparse

import torch
import torch.nn as nn
from torch.utils.data import DataLoader
from torchvision import datasets, transforms, utils

from dcgan_nets import Discriminator, Generator


def weights_init(m):
    name = m.__class__.__name__
    if "Conv" in name:
        nn.init.normal_(m.weight, 0.0, 0.02)


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("--root", default="anime")
    ap.add_argument("--nz", type=int, default=100)
    ap.add_argument("--epochs", type=int, default=60)
    opt = ap.parse_args()
    tf = transforms.Compose([transforms.Resize(64), transforms.CenterCrop(64), transforms.ToTensor(), transforms.Normalize([0.5] * 3, [0.5] * 3)])
    loader = DataLoader(datasets.ImageFolder(opt.root, tf), 128, shuffle=True, num_workers=4, drop_last=True)
    G, D = Generator(opt.nz).cuda(), Discriminator().cuda()
    G.apply(weights_init)
    D.apply(weights_init)
    g_opt = torch.optim.Adam(G.parameters(), 2e-4, (0.5, 0.999))
    d_opt = torch.optim.Adam(D.parameters(), 2e-4, (0.5, 0.999))
    bce = nn.BCEWithLogitsLoss()
    one, zero = torch.ones(128).cuda(), torch.zeros(128).cuda()
    G_losses, D_losses = [], []

    for epoch in range(opt.epochs):
        for real, _ in loader:
            fake = G(torch.randn(128, opt.nz, 1, 1, device="cuda"))
            lossD = bce(D(real.cuda()), one) + bce(D(fake), zero)
            d_opt.zero_grad()
            lossD.backward(retain_graph=True)
            d_opt.step()

            fake = G(torch.randn(128, opt.nz, 1, 1, device="cuda"))
            lossG = bce(D(fake), one)
            g_opt.zero_grad()
            lossG.backward()
            g_opt.step()

            G_losses.append(lossG.item())
            D_losses.append(lossD.item())
        with torch.no_grad():
            utils.save_image(G(torch.randn(64, opt.nz, 1, 1, device="cuda")), f"fake_{epoch:03d}.png", normalize=True)


if __name__ == "__main__":
    main()
