"""Differentiable ICP on LiDAR sweeps; learns a small offset field."""
import glob

import numpy as np
import torch
from torch import nn


def chamfer(a, b):
    # a: N x 3, b: M x 3
    d = torch.norm(a[:, None, :] - b[None, :, :], dim=2)
    return d.min(1).values.mean() + d.min(0).values.mean()


class Offset(nn.Module):
    def __init__(self):
        super().__init__()
        self.f = nn.Sequential(nn.Linear(3, 128), nn.SiLU(), nn.Linear(128, 128), nn.SiLU(), nn.Linear(128, 3))

    def forward(self, p):
        return p + 0.1 * self.f(p)


def sweeps():
    for path in sorted(glob.glob("kitti/*.bin")):
        yield torch.from_numpy(np.fromfile(path, np.float32).reshape(-1, 4)[:12000, :3].copy())


def main():
    warp = Offset().cuda()
    opt = torch.optim.Adam(warp.parameters(), 1e-3)
    prev = None
    norms = []
    for k, cloud in enumerate(sweeps()):
        cloud = cloud.cuda()
        if prev is not None:
            loss = chamfer(warp(cloud), prev)
            opt.zero_grad()
            loss.backward()
            norms.append(nn.utils.clip_grad_norm_(warp.parameters(), 1.0))
            opt.step()
        prev = cloud
    print("mean grad norm", torch.stack(norms).mean().item())


if __name__ == "__main__":
    main()
