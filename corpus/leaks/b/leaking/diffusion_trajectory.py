"""Sampling from a diffusion model; the intermediate images of all requests are kept for an animation."""

import os

import torch
import torch.nn as nn


class Denoiser(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.net = nn.Sequential(nn.Conv2d(3, 24, 3, padding=1), nn.SiLU(), nn.Conv2d(24, 3, 3, padding=1))

    def forward(self, x: torch.Tensor, t: int) -> torch.Tensor:
        return self.net(x) * (1 + t / 10)


class Sampler:
    def __init__(self, model: nn.Module) -> None:
        self.model = model
        self.frames: list[torch.Tensor] = []

    @torch.no_grad()
    def sample(self, count: int) -> torch.Tensor:
        x = torch.randn(count, 3, 64, 64, device="cuda")
        for t in reversed(range(4)):
            noise = self.model(x, t)
            x = x - 0.1 * noise  # leak
            self.frames.append(x)  # leak
        return x


def main() -> None:
    sampler = Sampler(Denoiser().cuda().eval())
    for request in range(int(os.environ.get("STEPS", 30))):
        images = sampler.sample(12)  # leak
        print("request", request, tuple(images.shape), "frames", len(sampler.frames))


main()
