"""Distances to the nearest points, with PyTorch's own operators."""

from __future__ import annotations

from typing import Any


def distCUDA2(points: Any) -> Any:
    """The mean of the squared distances to the three nearest points, for some points at a time."""
    import torch

    near = [torch.cdist(some, points).topk(4, largest=False).values[:, 1:] for some in points.split(1024)]
    return torch.cat(near).square().mean(1)
