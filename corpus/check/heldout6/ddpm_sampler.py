import math
import torch
from torch import nn


def cosine_betas(T, s=0.008):
    t = torch.linspace(0, T, T + 1)
    f = torch.cos((t / T + s) / (1 + s) * math.pi / 2) ** 2
    return (1 - f[1:] / f[:-1]).clamp(max=0.999)


class Diffusion(nn.Module):
    def __init__(self, unet, T=1000):
        super().__init__()
        self.unet = unet
        self.T = T
        b = cosine_betas(T)
        self.register_buffer("beta", b)
        self.register_buffer("abar", torch.cumprod(1 - b, 0))

    def q_sample(self, x0, t, eps):
        a = self.abar[t].view(-1, 1, 1, 1)
        return a.sqrt() * x0 + (1 - a).sqrt() * eps

    def sample(self, n, shape, device="cuda"):
        self.eval()
        x = torch.randn(n, *shape, device=device)
        movie = []
        for i in reversed(range(self.T)):
            t = torch.full((n,), i, device=device)
            eps = self.unet(x, t)
            b, a = self.beta[i], self.abar[i]
            x = (x - b / (1 - a).sqrt() * eps) / (1 - b).sqrt()
            if i:
                x = x + b.sqrt() * torch.randn_like(x)
            if i % 20 == 0:
                movie.append(x)
        return x, movie


def train(model, loader, opt):
    model.train()
    for x0, _ in loader:
        x0 = x0.cuda()
        t = torch.randint(0, model.T, (len(x0),), device=x0.device)
        eps = torch.randn_like(x0)
        loss = (model.unet(model.q_sample(x0, t, eps), t) - eps).square().mean()
        opt.zero_grad()
        loss.backward()
        opt.step()
