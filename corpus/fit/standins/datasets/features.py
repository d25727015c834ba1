"""What the values of a column are."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any


@dataclass
class Value:
    """Plain numbers, texts and lists of them."""

    dtype: str = "int64"


@dataclass
class ClassLabel:
    """Numbers that stand for names."""

    names: list[str] = field(default_factory=list)
    dtype: str = "int64"

    def int2str(self, number: int) -> str:
        return self.names[number]


@dataclass
class Image:
    """A path that is read as an image."""


@dataclass
class Audio:
    """A number of samples, read as that much noise."""

    sampling_rate: int = 16_000


def decoded(kind: Any, value: Any) -> Any:
    """A stored value as the script sees it."""
    if isinstance(kind, Image) and isinstance(value, str):
        import PIL.Image

        return PIL.Image.open(value).convert("RGB")
    if isinstance(kind, Audio) and isinstance(value, int):
        import numpy

        return {"array": numpy.random.default_rng(value).standard_normal(value).astype("float32"), "sampling_rate": 16_000}
    return value
