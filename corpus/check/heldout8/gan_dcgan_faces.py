# DCGAN on celeba, following the tutorial
import torch
import torch.nn as nn
import torch.optim as optim
import torchvision.datasets as dset
import torchvision.transforms as T

nz, ngf, ndf = 100, 64, 64
device = torch.device("cuda:0")

ds = dset.ImageFolder("data/celeba", T.Compose([T.Resize(64), T.CenterCrop(64), T.ToTensor(), T.Normalize([.5] * 3, [.5] * 3)]))
dataloader = torch.utils.data.DataLoader(ds, batch_size=128, shuffle=True, num_workers=2)


def up(i, o, s, p):
    return nn.Sequential(nn.ConvTranspose2d(i, o, 4, s, p, bias=False), nn.BatchNorm2d(o), nn.ReLU(True))


def down(i, o):
    return nn.Sequential(nn.Conv2d(i, o, 4, 2, 1, bias=False), nn.BatchNorm2d(o), nn.LeakyReLU(0.2, True))


netG = nn.Sequential(up(nz, ngf * 8, 1, 0), up(ngf * 8, ngf * 4, 2, 1), up(ngf * 4, ngf * 2, 2, 1), up(ngf * 2, ngf, 2, 1),
                     nn.ConvTranspose2d(ngf, 3, 4, 2, 1), nn.Tanh()).to(device)
netD = nn.Sequential(down(3, ndf), down(ndf, ndf * 2), down(ndf * 2, ndf * 4), down(ndf * 4, ndf * 8),
                     nn.Conv2d(ndf * 8, 1, 4, 1, 0), nn.Sigmoid(), nn.Flatten(0)).to(device)
criterion = nn.BCELoss()
optimizerD = optim.Adam(netD.parameters(), lr=2e-4, betas=(0.5, 0.999))
optimizerG = optim.Adam(netG.parameters(), lr=2e-4, betas=(0.5, 0.999))

G_losses, D_losses = [], []
for epoch in range(25):
    for i, (real, _) in enumerate(dataloader):
        real = real.to(device)
        b = real.size(0)
        ones, zeros = torch.ones(b, device=device), torch.zeros(b, device=device)

        netD.zero_grad()
        errD_real = criterion(netD(real), ones)
        fake = netG(torch.randn(b, nz, 1, 1, device=device))
        errD_fake = criterion(netD(fake), zeros)
        errD = errD_real + errD_fake
        errD.backward()
        optimizerD.step()

        netG.zero_grad()
        fake = netG(torch.randn(b, nz, 1, 1, device=device))
        errG = criterion(netD(fake), ones)
        errG.backward()
        optimizerG.step()

        G_losses.append(errG)
        D_losses.append(errD)
    print(epoch, errD.item(), errG.item())
