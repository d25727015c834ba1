"""Peaks."""

from __future__ import annotations

from typing import Any


def peak_local_max(picture: Any, **named: Any) -> Any:
    """The highest point."""
    import numpy

    return numpy.array([numpy.unravel_index(int(picture.argmax()), picture.shape)])
