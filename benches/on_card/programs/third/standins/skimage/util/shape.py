"""Windows on an array."""

from __future__ import annotations

from typing import Any


def view_as_windows(array: Any, shape: Any, step: int = 1) -> Any:
    """Every window that fits."""
    import numpy

    return numpy.lib.stride_tricks.sliding_window_view(array, shape)
