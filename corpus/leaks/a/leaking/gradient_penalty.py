"""WGAN-GP whose gradient penalties are kept with the graph of their gradients."""

import os

import torch
from torch import nn

steps = int(os.environ.get("STEPS", 30))

critic = nn.Sequential(nn.Linear(256, 768), nn.Tanh(), nn.Linear(768, 768), nn.Tanh(), nn.Linear(768, 1)).cuda()
opt = torch.optim.RMSprop(critic.parameters(), lr=5e-5)
penalties = []


def gradient_penalty(real, fake):
    mix = torch.rand(real.shape[0], 1, device="cuda")
    between = (mix * real + (1 - mix) * fake).requires_grad_()
    score = critic(between).sum()  # leak
    (grad,) = torch.autograd.grad(score, between, create_graph=True)  # leak
    return ((grad.norm(2, dim=1) - 1) ** 2).mean()  # leak


for step in range(steps):
    real = torch.randn(256, 256, device="cuda")
    fake = torch.randn(256, 256, device="cuda")
    wasserstein = critic(fake).mean() - critic(real).mean()
    opt.zero_grad()
    wasserstein.backward()
    opt.step()

    with torch.enable_grad():
        penalty = gradient_penalty(real, fake)  # leak
    penalties.append(penalty)  # leak
    print(f"step {step}: critic {wasserstein.item():.4f}, penalties {len(penalties)}")
