"""Finds clusters with tensor operations alone: no model, no optimizer."""

import argparse

import torch

parser = argparse.ArgumentParser()
parser.add_argument("--device", default="cpu")
args = parser.parse_args()

points = torch.randn(60_000, 64, device=args.device)
centres = points[torch.randperm(len(points))[:50]].clone()
for _ in range(5):
    nearest = torch.cdist(points, centres).argmin(1)
    sums = torch.zeros_like(centres).index_add_(0, nearest, points)
    counts = torch.bincount(nearest, minlength=len(centres)).clamp(min=1)
    centres = sums / counts[:, None]
print(centres.norm().item())
