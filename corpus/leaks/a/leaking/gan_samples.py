"""A GAN that keeps each generator output for a sample sheet, together with the generator's graph."""

import os

import torch
import torch.nn.functional as F
from torch import nn

steps = int(os.environ.get("STEPS", 30))

generator = nn.Sequential(
    nn.ConvTranspose2d(64, 32, 4), nn.ReLU(),
    nn.ConvTranspose2d(32, 16, 4, 2, 1), nn.ReLU(),
    nn.ConvTranspose2d(16, 3, 4, 2, 1), nn.Tanh(),
).cuda()  # fmt: skip
discriminator = nn.Sequential(nn.Conv2d(3, 16, 4, 2, 1), nn.LeakyReLU(0.2), nn.Flatten(), nn.Linear(1024, 1)).cuda()
opt_g = torch.optim.Adam(generator.parameters(), 2e-4)
opt_d = torch.optim.Adam(discriminator.parameters(), 2e-4)
samples = []

for step in range(steps):
    real = torch.randn(128, 3, 16, 16, device="cuda")
    noise = torch.randn(128, 64, 1, 1, device="cuda")
    fake = generator(noise)  # leak

    d_loss = F.softplus(-discriminator(real)).mean() + F.softplus(discriminator(fake.detach())).mean()
    opt_d.zero_grad()
    d_loss.backward()
    opt_d.step()

    g_loss = F.softplus(-discriminator(fake)).mean()
    opt_g.zero_grad()
    g_loss.backward()
    opt_g.step()

    preview = generator(noise)  # leak
    samples.append(preview[:16])  # leak
    print(f"step {step}: D {d_loss.item():.3f} G {g_loss.item():.3f}")
