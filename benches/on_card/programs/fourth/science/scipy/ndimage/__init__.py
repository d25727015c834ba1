"""Scaling and turning pictures: the shapes are what counts."""

from __future__ import annotations

from typing import Any

import numpy


def zoom(picture: Any, scale: Any, order: int = 3, **named: Any) -> Any:
    """The nearest point for every new one."""
    for axis, by in enumerate(scale):
        given, wanted = picture.shape[axis], round(picture.shape[axis] * by)
        if wanted != given:
            picture = numpy.take(picture, numpy.minimum(numpy.arange(wanted) * given // wanted, given - 1), axis)
    return picture


def rotate(picture: Any, angle: float, **named: Any) -> Any:
    """As it was: a turned picture has the same shape."""
    return picture
