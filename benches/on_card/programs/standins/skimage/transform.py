"""Scaling."""

from __future__ import annotations

from typing import Any


def resize(picture: Any, size: tuple[int, int], **named: Any) -> Any:
    """The nearest point for every new one, as 64-bit numbers."""
    import cv2

    return cv2.resize(picture, (size[1], size[0])).astype("float64")
