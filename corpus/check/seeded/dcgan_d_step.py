import torch
import torch.nn as nn


def train(netG, netD, loader, optG, optD, nz=100):
    bce = nn.BCELoss()
    for real, _ in loader:
        real = real.cuda()
        b = real.size(0)
        ones, zeros = torch.ones(b, device="cuda"), torch.zeros(b, device="cuda")
        noise = torch.randn(b, nz, 1, 1, device="cuda")
        fake = netG(noise)
        optD.zero_grad()
        err_real = bce(netD(real), ones)
        err_fake = bce(netD(fake), zeros)
        errD = err_real + err_fake
        errD.backward()
        optD.step()

        optG.zero_grad()
        errG = bce(netD(netG(noise)), ones)
        errG.backward()
        optG.step()
