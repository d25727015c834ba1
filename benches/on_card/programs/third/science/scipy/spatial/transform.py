"""Turning points in space."""

from __future__ import annotations

from typing import Any

import numpy


class Rotation:
    """A matrix that turns."""

    def __init__(self, matrix: Any) -> None:
        self._matrix = matrix

    @classmethod
    def from_euler(cls, order: str, angles: Any) -> "Rotation":
        """One turn after the other around fixed axes."""
        matrix = numpy.eye(3)
        for axis, angle in zip(order, angles):
            turn, (one, other) = numpy.eye(3), {"x": (1, 2), "y": (2, 0), "z": (0, 1)}[axis]
            turn[one, one] = turn[other, other] = numpy.cos(angle)
            turn[other, one] = numpy.sin(angle)
            turn[one, other] = -turn[other, one]
            matrix = turn @ matrix
        return cls(matrix)

    def apply(self, points: Any) -> Any:
        """Every point turned."""
        return points @ self._matrix.T
