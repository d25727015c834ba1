"""Roots of matrices."""

from __future__ import annotations

from typing import Any


def sqrtm(matrix: Any, disp: bool = True) -> Any:
    """The root of a symmetric matrix, and how far off it is where that is asked for."""
    import numpy

    values, vectors = numpy.linalg.eigh(matrix)
    root = (vectors * numpy.sqrt(numpy.maximum(values, 0))) @ vectors.T
    return root if disp else (root, 0.0)
