"""Sequences of one object each, on one picture."""

from __future__ import annotations

from typing import Any

import numpy

__all__ = ["GOT10k"]


class GOT10k:
    """As many sequences as are needed, all with the same frames."""

    def __init__(self, root: str, subset: str = "train", return_meta: bool = False) -> None:
        self.root, self.return_meta = root, return_meta

    def __len__(self) -> int:
        return 400

    def __getitem__(self, at: int) -> Any:
        chance = numpy.random.default_rng(at)
        boxes = numpy.stack([chance.uniform(60, 300, 12), chance.uniform(60, 200, 12), chance.uniform(50, 120, 12), chance.uniform(50, 120, 12)], 1)
        return [f"{self.root}/{frame}.jpg" for frame in range(12)], boxes.astype(numpy.float32), {"cover": numpy.full(12, 8)}
