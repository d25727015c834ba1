"""Stands in for OpenCV as far as the programs read and scale pictures with it."""

from __future__ import annotations

from typing import Any

import numpy
from PIL import Image

INTER_NEAREST, INTER_LINEAR, INTER_CUBIC, INTER_AREA, INTER_LANCZOS4 = range(5)
BORDER_CONSTANT = 0
IMREAD_COLOR, IMREAD_ANYDEPTH, IMREAD_UNCHANGED, IMREAD_GRAYSCALE = 1, 2, -1, 0
COLOR_BGR2RGB = COLOR_RGB2BGR = COLOR_RGB2HSV = COLOR_HSV2RGB = 4
FONT_HERSHEY_PLAIN = FONT_HERSHEY_SIMPLEX = LINE_AA = 1


class ocl:
    """OpenCL's switch."""

    @staticmethod
    def setUseOpenCL(on: bool) -> None:
        """Nothing to switch."""


def setNumThreads(count: int) -> None:
    """Nothing to set."""


def imread(path: str, flags: int = 1) -> Any:
    """Blue, green, red, as OpenCV has them."""
    return numpy.ascontiguousarray(numpy.asarray(Image.open(path).convert("RGB"))[..., ::-1])


def imwrite(path: str, picture: Any) -> bool:
    """Not kept."""
    return True


def cvtColor(picture: Any, code: int) -> Any:
    """The colours the other way round."""
    return numpy.ascontiguousarray(picture[..., ::-1])


def split(picture: Any) -> list[Any]:
    """One picture a colour."""
    return [picture[..., at] for at in range(picture.shape[-1])]


def merge(colours: Any) -> Any:
    """All colours in one picture."""
    return numpy.stack(list(colours), -1)


def LUT(picture: Any, table: Any) -> Any:
    """Every value looked up."""
    return table[picture]


def resize(picture: Any, dsize: Any = None, dst: Any = None, fx: float = 0, fy: float = 0, interpolation: int = 1) -> Any:
    """The nearest point for every new one: the shape is what counts."""
    height, width = picture.shape[:2]
    new_width, new_height = dsize if dsize is not None else (round(width * fx), round(height * fy))
    rows = numpy.minimum(numpy.arange(new_height) * height // new_height, height - 1)
    columns = numpy.minimum(numpy.arange(new_width) * width // new_width, width - 1)
    return numpy.ascontiguousarray(picture[rows][:, columns])


def copyMakeBorder(picture: Any, top: int, bottom: int, left: int, right: int, kind: int, value: Any = 0) -> Any:
    """A frame of one colour."""
    made = numpy.empty((picture.shape[0] + top + bottom, picture.shape[1] + left + right, *picture.shape[2:]), picture.dtype)
    made[...] = numpy.asarray(value).astype(picture.dtype)[..., : made.shape[-1]] if numpy.ndim(value) else value
    made[top : top + picture.shape[0], left : left + picture.shape[1]] = picture
    return made


def __getattr__(name: str) -> Any:
    if name.startswith("__"):
        raise AttributeError(name)
    return lambda *given, **named: None
