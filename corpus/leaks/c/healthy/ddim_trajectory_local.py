"""Samples from a small denoiser each step, with the whole trajectory kept for as long as the function runs."""
import os
import random

import torch
from torch import nn

device = "cuda"
random.seed(3)
SIG = [1.0, 0.7, 0.4, 0.2, 0.1, 0.0]


class Denoiser(nn.Module):
    def __init__(self):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(769, 512), nn.SiLU(), nn.Linear(512, 768))

    def forward(self, x, sigma):
        s = torch.full((x.shape[0], 1), sigma, device=x.device)
        return self.net(torch.cat([x, s], 1))


@torch.no_grad()
def sample(model, n):
    x = torch.randn(n, 768, device=device)
    xs = [x]
    for hi, lo in zip(SIG[:-1], SIG[1:]):
        x0 = model(x, hi)
        x = x0 + lo / hi * (x - x0)
        xs.append(x)
    return torch.stack(xs)


model = Denoiser().to(device)
opt = torch.optim.AdamW(model.parameters(), lr=1e-3)
path_length = []
for it in range(int(os.environ.get("STEPS", 60))):
    clean = torch.randn(64, 768, device=device)
    sigma = random.choice(SIG[:-1])
    loss = (model(clean + sigma * torch.randn_like(clean), sigma) - clean).pow(2).mean()
    opt.zero_grad()
    loss.backward()
    opt.step()
    traj = sample(model, random.randint(50, 250))
    path_length.append(traj.diff(dim=0).norm(dim=-1).mean().item())
    print(f"iter={it} loss={loss.item():.4f} path={path_length[-1]:.3f}")
