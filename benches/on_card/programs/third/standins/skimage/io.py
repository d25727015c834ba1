"""Reading."""

from __future__ import annotations

from typing import Any


def imread(path: str) -> Any:
    """Red, green, blue."""
    import numpy
    from PIL import Image

    return numpy.asarray(Image.open(path).convert("RGB"))
