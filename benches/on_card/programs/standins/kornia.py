"""Stands in for kornia: a grid of the places of pixels, on the host."""

from __future__ import annotations

from typing import Any


def create_meshgrid(height: int, width: int, normalized_coordinates: bool = True, **named: Any) -> Any:
    """(1, height, width, 2): x and y."""
    import torch

    rows, columns = torch.meshgrid(torch.arange(height, device="cpu"), torch.arange(width, device="cpu"), indexing="ij")
    return torch.stack([columns, rows], -1)[None].float()
