"""Colours."""

from __future__ import annotations

from typing import Any


def gray2rgb(picture: Any) -> Any:
    """The same three times."""
    import numpy

    return numpy.stack([picture] * 3, -1)
