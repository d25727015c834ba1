"""Sliding window over a CT volume, overlapping patches blended with a Gaussian."""
from functools import lru_cache

import torch


@lru_cache(maxsize=None)
def window(shape, sigma, device):
    axes = [torch.linspace(-1, 1, s, device=device) for s in shape]
    grid = torch.meshgrid(*axes, indexing="ij")
    return torch.exp(-sum(g ** 2 for g in grid) / (2 * sigma ** 2))


def starts(n, patch, step):
    s = list(range(0, max(n - patch, 0) + 1, step))
    return s if s[-1] + patch >= n else s + [n - patch]


@torch.inference_mode()
def segment(net, volume, overlap=0.5, device="cuda"):
    d, h, w = volume.shape
    patch = tuple(min(96, s) for s in (d, h, w))
    step = [max(1, int(p * (1 - overlap))) for p in patch]
    out = torch.zeros(2, d, h, w)
    norm = torch.zeros(d, h, w)
    g = window(patch, 0.5, device)
    for z in starts(d, patch[0], step[0]):
        for y in starts(h, patch[1], step[1]):
            for x in starts(w, patch[2], step[2]):
                sl = (slice(z, z + patch[0]), slice(y, y + patch[1]), slice(x, x + patch[2]))
                p = net(volume[sl][None, None].to(device))[0].softmax(0)
                out[(slice(None), *sl)] += (p * g).cpu()
                norm[sl] += g.cpu()
    return (out / norm).argmax(0)
