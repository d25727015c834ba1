"""A toy DDPM which draws samples after each training step; the list of frames is a default argument."""
import math
import os

import torch
from torch import nn

device = "cuda"
T = 5


class TinyEps(nn.Module):
    def __init__(self, ch=16):
        super().__init__()
        self.inp = nn.Conv2d(3, ch, 3, padding=1)
        self.temb = nn.Embedding(T, ch)
        self.out = nn.Conv2d(ch, 3, 3, padding=1)

    def forward(self, x, t):
        h = self.inp(x) + self.temb(t)[:, :, None, None]
        return self.out(torch.nn.functional.silu(h))


betas = [0.02 + 0.1 * i / T for i in range(T)]
alphas = [1 - b for b in betas]
abar = [math.prod(alphas[: i + 1]) for i in range(T)]


@torch.no_grad()
def sample(model, n, frames=[]):
    x = torch.randn(n, 3, 32, 32, device=device)
    for t in reversed(range(T)):
        tt = torch.full((n,), t, dtype=torch.long, device=device)
        eps = model(x, tt)
        x = (x - betas[t] / math.sqrt(1 - abar[t]) * eps) / math.sqrt(alphas[t])  # leak
        if t > 0:
            x = x + math.sqrt(betas[t]) * torch.randn_like(x)  # leak
        frames.append(x)  # leak
    return frames[-1]


model = TinyEps().to(device)
opt = torch.optim.Adam(model.parameters(), lr=2e-4)
for it in range(int(os.environ.get("STEPS", 60))):
    x0 = torch.rand(32, 3, 32, 32, device=device) * 2 - 1
    t = it % T
    noise = torch.randn_like(x0)
    xt = math.sqrt(abar[t]) * x0 + math.sqrt(1 - abar[t]) * noise
    tt = torch.full((32,), t, dtype=torch.long, device=device)
    loss = (model(xt, tt) - noise).square().mean()
    opt.zero_grad()
    loss.backward()
    opt.step()
    preview = sample(model, 24)  # leak
    print(f"it {it} loss {loss.item():.4f} preview std {preview.std().item():.3f}")
