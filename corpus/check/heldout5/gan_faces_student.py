import argparse
import os
import torch
import torch.nn as nn
from torchvision import datasets, transforms, utils

p = argparse.ArgumentParser()
p.add_argument("--data", default="./celeba")
p.add_argument("--bs", type=int, default=128)
p.add_argument("--epochs", type=int, default=25)
a = p.parse_args()

device = torch.device("cuda:0")


def block(i, o):
    return nn.Sequential(nn.ConvTranspose2d(i, o, 4, 2, 1, bias=False), nn.BatchNorm2d(o), nn.ReLU(True))


gen = nn.Sequential(nn.ConvTranspose2d(100, 512, 4, 1, 0), block(512, 256), block(256, 128), block(128, 64),
                    nn.ConvTranspose2d(64, 3, 4, 2, 1), nn.Tanh()).to(device)
disc = nn.Sequential(nn.Conv2d(3, 64, 4, 2, 1), nn.LeakyReLU(0.2), nn.Conv2d(64, 128, 4, 2, 1), nn.LeakyReLU(0.2),
                     nn.Conv2d(128, 256, 4, 2, 1), nn.LeakyReLU(0.2), nn.Flatten(), nn.Linear(256 * 64, 1)).to(device)
optG = torch.optim.Adam(gen.parameters(), 2e-4, (0.5, 0.999))
optD = torch.optim.Adam(disc.parameters(), 2e-4, (0.5, 0.999))
bce = nn.BCEWithLogitsLoss()
ds = datasets.ImageFolder(a.data, transforms.Compose([transforms.Resize(64), transforms.CenterCrop(64),
                                                      transforms.ToTensor()]))
loader = torch.utils.data.DataLoader(ds, a.bs, shuffle=True, num_workers=4)
fixed = torch.randn(64, 100, 1, 1, device=device)

for epoch in range(a.epochs):
    for i, (real, _) in enumerate(loader):
        real = real.to(device)
        ones = torch.ones(real.size(0), 1, device=device)
        zeros = torch.zeros(real.size(0), 1, device=device)

        # discriminator
        optD.zero_grad()
        z = torch.randn(real.size(0), 100, 1, 1, device=device)
        fake = gen(z)
        d_real = bce(disc(real), ones)
        d_fake = bce(disc(fake), zeros)
        (d_real + d_fake).backward()
        optD.step()

        # generator
        optG.zero_grad()
        g = bce(disc(gen(torch.randn_like(z))), ones)
        g.backward()
        optG.step()

    samples = gen(fixed)
    os.makedirs("out", exist_ok=True)
    utils.save_image(samples, f"out/{epoch}.png", normalize=True)
