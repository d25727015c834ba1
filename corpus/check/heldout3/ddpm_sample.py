"""Samples from a trained DDPM. No classifier guidance, no training here."""
import argparse

import torch
from torchvision.utils import save_image

from unet import UNet


class Schedule:
    def __init__(self, steps=1000, lo=1e-4, hi=0.02, device="cuda"):
        self.beta = torch.linspace(lo, hi, steps, device=device)
        self.alpha = 1 - self.beta
        self.abar = self.alpha.cumprod(0)
        self.steps = steps


def denoise(model, x, t, s: Schedule):
    ts = torch.full((x.size(0),), t, device=x.device, dtype=torch.long)
    eps = model(x, ts)
    mean = (x - s.beta[t] / (1 - s.abar[t]).sqrt() * eps) / s.alpha[t].sqrt()
    if t == 0:
        return mean
    return mean + s.beta[t].sqrt() * torch.randn_like(x)


def sample(model, s: Schedule, n=16, size=64):
    model.eval()
    x = torch.randn(n, 3, size, size, device="cuda")
    for t in reversed(range(s.steps)):
        x = denoise(model, x, t, s)
    return x.clamp(-1, 1)


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("ckpt")
    ap.add_argument("-n", type=int, default=16)
    ap.add_argument("-o", "--out", default="samples.png")
    args = ap.parse_args()
    model = UNet(channels=128, mult=(1, 2, 2, 4))
    model.load_state_dict(torch.load(args.ckpt, map_location="cpu"))
    model.cuda()
    images = sample(model, Schedule(), args.n)
    save_image((images + 1) / 2, args.out, nrow=4)


if __name__ == "__main__":
    main()
