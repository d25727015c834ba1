"""A GAN done right: fakes are detached for the discriminator, samples replaced and not collected."""

import os

import torch
import torch.nn.functional as F
from torch import nn

steps = int(os.environ.get("STEPS", 30))

generator = nn.Sequential(nn.Linear(128, 512), nn.ReLU(), nn.Linear(512, 3072), nn.Tanh()).cuda()
discriminator = nn.Sequential(nn.Linear(3072, 512), nn.LeakyReLU(0.2), nn.Linear(512, 1)).cuda()
opt_g = torch.optim.Adam(generator.parameters(), 2e-4, betas=(0.5, 0.99))
opt_d = torch.optim.Adam(discriminator.parameters(), 2e-4, betas=(0.5, 0.99))
fixed = torch.randn(64, 128, device="cuda")
sheet = None

for step in range(steps):
    real = torch.randn(128, 3072, device="cuda")
    fake = generator(torch.randn(128, 128, device="cuda"))
    d_loss = F.softplus(discriminator(fake.detach())).mean() + F.softplus(-discriminator(real)).mean()
    opt_d.zero_grad()
    d_loss.backward()
    opt_d.step()
    g_loss = F.softplus(-discriminator(fake)).mean()
    opt_g.zero_grad()
    g_loss.backward()
    opt_g.step()
    with torch.no_grad():
        sheet = generator(fixed)
    print(f"step {step}: D {d_loss.item():.3f}, G {g_loss.item():.3f}, sheet {tuple(sheet.shape)}")
