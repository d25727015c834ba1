"""Infer on big microscopy frames; falls back to tiles when a frame does not fit."""
import sys

import numpy as np
import tifffile
import torch
from torch import nn


def halves(x):
    top, bottom = x.chunk(2, dim=2)
    return top, bottom


@torch.no_grad()
def segment(net: nn.Module, x: torch.Tensor) -> torch.Tensor:
    try:
        return net(x).cpu()
    except torch.cuda.OutOfMemoryError:
        torch.cuda.empty_cache()
        a, b = halves(x)
        return torch.cat([segment(net, a), segment(net, b)], dim=2)


def main():
    net = torch.jit.load("cells.ts", map_location="cuda").eval()
    movie = tifffile.memmap(sys.argv[1])
    out = np.zeros(movie.shape, np.uint8)
    for t, frame in enumerate(movie):
        x = torch.from_numpy(frame.astype(np.float32))[None, None].cuda()
        out[t] = (segment(net, x)[0, 0] > 0).numpy()
    tifffile.imwrite("mask.tif", out)


if __name__ == "__main__":
    main()
