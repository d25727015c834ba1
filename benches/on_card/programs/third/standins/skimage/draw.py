"""Polygons."""

from __future__ import annotations

from typing import Any


def polygon(rows: Any, columns: Any, shape: Any = None) -> Any:
    """The points of the box around it, as far as they are in the picture."""
    import numpy

    spans = []
    for values, limit in zip((rows, columns), shape or (10_000, 10_000)):
        spans.append(numpy.arange(max(int(min(values)), 0), min(int(max(values)) + 1, limit)))
    found = numpy.meshgrid(*spans, indexing="ij")
    return found[0].ravel(), found[1].ravel()
