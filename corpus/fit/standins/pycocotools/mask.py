"""Masks are the boxes around them here."""

from __future__ import annotations

from typing import Any

import numpy


def frPyObjects(polygons: Any, height: int, width: int) -> Any:
    return [(polygon, height, width) for polygon in polygons]


def decode(shapes: Any) -> Any:
    made = numpy.zeros((shapes[0][1], shapes[0][2], len(shapes)), dtype=numpy.uint8)
    for at, (polygon, _, _) in enumerate(shapes):
        xs, ys = polygon[0::2], polygon[1::2]
        made[int(min(ys)) : int(max(ys)), int(min(xs)) : int(max(xs)), at] = 1
    return made
