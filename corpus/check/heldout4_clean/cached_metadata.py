"""lru_cache over plain values only."""
import functools
import hashlib
from pathlib import Path

import torch


@functools.lru_cache(maxsize=1024)
def fingerprint(path: str) -> str:
    return hashlib.sha256(Path(path).read_bytes()).hexdigest()


@functools.lru_cache(maxsize=None)
def patch_grid(height: int, width: int, patch: int, stride: int) -> tuple[tuple[int, int], ...]:
    ys = range(0, height - patch + 1, stride)
    xs = range(0, width - patch + 1, stride)
    return tuple((y, x) for y in ys for x in xs)


@torch.inference_mode()
def tiled(net, image, patch=256, stride=192):
    out = torch.zeros_like(image)
    weight = torch.zeros_like(image[:1])
    for y, x in patch_grid(*image.shape[-2:], patch, stride):
        tile = image[:, y:y + patch, x:x + patch]
        out[:, y:y + patch, x:x + patch] += net(tile[None].cuda())[0].cpu()
        weight[:, y:y + patch, x:x + patch] += 1
    return out / weight.clamp(min=1)


def main(net, files, read):
    net = net.cuda().eval()
    for f in files:
        print(f, fingerprint(str(f))[:12], tiled(net, read(f)).mean().item())
