"""WGAN-GP as it should be: the penalty is part of the loss, and its number is what is logged."""

import os

import torch
from torch import nn

steps = int(os.environ.get("STEPS", 30))

critic = nn.Sequential(nn.Linear(256, 768), nn.Tanh(), nn.Linear(768, 768), nn.Tanh(), nn.Linear(768, 1)).cuda()
opt = torch.optim.Adam(critic.parameters(), 1e-4, betas=(0.0, 0.9))
penalties = []

for step in range(steps):
    real = torch.randn(256, 256, device="cuda")
    fake = torch.randn(256, 256, device="cuda")
    mix = torch.rand(256, 1, device="cuda")
    between = (mix * real + (1 - mix) * fake).requires_grad_()
    (grad,) = torch.autograd.grad(critic(between).sum(), between, create_graph=True)
    penalty = ((grad.norm(2, dim=1) - 1) ** 2).mean()
    loss = critic(fake).mean() - critic(real).mean() + 10 * penalty
    opt.zero_grad()
    loss.backward()
    opt.step()
    penalties.append(penalty.item())
    print(f"step {step}: {loss.item():.4f}")
