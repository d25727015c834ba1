"""Stands in for OpenCV: what the first set has, grey pictures, and turning."""

from __future__ import annotations

import importlib.util
from pathlib import Path
from typing import Any

import numpy
from PIL import Image

_spec = importlib.util.spec_from_file_location("_first_cv2", Path(__file__).resolve().parents[2] / "standins/cv2.py")
assert _spec is not None and _spec.loader is not None
_first = importlib.util.module_from_spec(_spec)
_spec.loader.exec_module(_first)
globals().update({name: value for name, value in vars(_first).items() if not name.startswith("__")})


def imread(path: str, flags: int = 1) -> Any:
    """Blue, green, red, or the grey alone."""
    if flags == 0:
        return numpy.array(Image.open(path).convert("L"))
    return _first.imread(path)


def resize(picture: Any, dsize: Any = None, dst: Any = None, fx: float = 0, fy: float = 0, interpolation: int = 1) -> Any:
    """A size of nothing asks for the factors."""
    return _first.resize(picture, None if dsize is not None and not dsize[0] else dsize, dst, fx, fy, interpolation)


def flip(picture: Any, axis: int) -> Any:
    """Mirrored."""
    return numpy.ascontiguousarray(numpy.flip(picture, 1 if axis else 0))


def getRotationMatrix2D(centre: Any, degrees: float, scale: float) -> Any:
    """Two rows of three."""
    alpha, beta = scale * numpy.cos(numpy.radians(degrees)), scale * numpy.sin(numpy.radians(degrees))
    x, y = centre
    return numpy.array([[alpha, beta, (1 - alpha) * x - beta * y], [-beta, alpha, beta * x + (1 - alpha) * y]])


def warpAffine(picture: Any, matrix: Any, dsize: Any, borderMode: int = 0, borderValue: Any = 0, **named: Any) -> Any:
    """The nearest point for every new one."""
    width, height = dsize
    back = numpy.linalg.inv(numpy.vstack([matrix, [0, 0, 1]]))
    y, x = numpy.mgrid[:height, :width]
    column, row = (back[:2] @ numpy.stack([x.ravel(), y.ravel(), numpy.ones(x.size)])).round().astype(int)
    inside = (row >= 0) & (row < picture.shape[0]) & (column >= 0) & (column < picture.shape[1])
    made = numpy.empty((height * width, *picture.shape[2:]), picture.dtype)
    made[...] = numpy.asarray(borderValue).astype(picture.dtype)[..., : made.shape[-1]] if picture.ndim > 2 else numpy.ravel(borderValue)[0]
    made[inside] = picture[row[inside], column[inside]]
    return made.reshape(height, width, *picture.shape[2:])


def __getattr__(name: str) -> Any:
    return getattr(_first, name)
