"""Stands in for scikit-image as far as pictures are read, scaled and drawn in with it."""

from __future__ import annotations

from typing import Any


def img_as_ubyte(picture: Any) -> Any:
    """Whole numbers up to 255."""
    return (picture * 255).astype("uint8")
