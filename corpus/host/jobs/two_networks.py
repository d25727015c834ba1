"""A generator and a discriminator that train against each other, an optimizer each."""

import argparse

import torch
from torch import nn

parser = argparse.ArgumentParser()
parser.add_argument("--device", default="cpu")
args = parser.parse_args()

generator = nn.Sequential(
    nn.ConvTranspose2d(64, 96, 4), nn.BatchNorm2d(96), nn.ReLU(),
    nn.ConvTranspose2d(96, 48, 4, 2, 1), nn.BatchNorm2d(48), nn.ReLU(),
    nn.ConvTranspose2d(48, 24, 4, 2, 1), nn.BatchNorm2d(24), nn.ReLU(),
    nn.ConvTranspose2d(24, 3, 4, 2, 1), nn.Tanh(),
).to(args.device)  # fmt: skip
discriminator = nn.Sequential(
    nn.Conv2d(3, 32, 4, 2, 1), nn.LeakyReLU(0.2), nn.Conv2d(32, 64, 4, 2, 1), nn.LeakyReLU(0.2),
    nn.Conv2d(64, 96, 4, 2, 1), nn.LeakyReLU(0.2), nn.Conv2d(96, 1, 4), nn.Flatten(),
).to(args.device)  # fmt: skip
images = torch.rand(512, 3, 32, 32) * 2 - 1
of_generator = torch.optim.Adam(generator.parameters(), lr=2e-4, betas=(0.5, 0.999))
of_discriminator = torch.optim.Adam(discriminator.parameters(), lr=2e-4, betas=(0.5, 0.999))
judge = nn.BCEWithLogitsLoss()
for epoch in range(2):
    for start in range(0, len(images), 32):
        real = images[start : start + 32].to(args.device)
        made = generator(torch.randn(32, 64, 1, 1, device=args.device))
        told, denied = discriminator(real), discriminator(made.detach())
        loss = judge(told, torch.ones_like(told)) + judge(denied, torch.zeros_like(denied))
        of_discriminator.zero_grad()
        loss.backward()
        of_discriminator.step()
        fooled = discriminator(made)
        of_generator.zero_grad()
        judge(fooled, torch.ones_like(fooled)).backward()
        of_generator.step()
print(loss.item())
