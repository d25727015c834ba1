import torch
import torch.nn as nn
from torch.utils.data import DataLoader
from torchvision.datasets import MNIST
from torchvision.transforms import ToTensor

Z = 100
gen = nn.Sequential(
    nn.Linear(Z, 256), nn.LeakyReLU(0.2),
    nn.Linear(256, 1024), nn.LeakyReLU(0.2),
    nn.Linear(1024, 784), nn.Tanh(),
).cuda()
disc = nn.Sequential(
    nn.Linear(784, 1024), nn.LeakyReLU(0.2), nn.Dropout(0.3),
    nn.Linear(1024, 256), nn.LeakyReLU(0.2), nn.Dropout(0.3),
    nn.Linear(256, 1), nn.Sigmoid(),
).cuda()

opt_g = torch.optim.Adam(gen.parameters(), 2e-4, betas=(0.5, 0.999))
opt_d = torch.optim.Adam(disc.parameters(), 2e-4, betas=(0.5, 0.999))
bce = nn.BCELoss()
batches = DataLoader(MNIST("mnist", download=True, transform=ToTensor()), 128, shuffle=True, drop_last=True)

ones = torch.ones(128, 1).cuda()
zeros = torch.zeros(128, 1).cuda()

for epoch in range(50):
    for real, _ in batches:
        real = real.view(128, -1).cuda() * 2 - 1

        # discriminator turn
        opt_d.zero_grad()
        noise = torch.randn(128, Z).cuda()
        images = gen(noise)
        loss_real = bce(disc(real), ones)
        loss_fake = bce(disc(images), zeros)
        d_total = (loss_real + loss_fake) / 2
        d_total.backward()
        opt_d.step()

        # generator turn
        opt_g.zero_grad()
        g_loss = bce(disc(gen(torch.randn(128, Z).cuda())), ones)
        g_loss.backward()
        opt_g.step()
    print(epoch, d_total.item(), g_loss.item())
