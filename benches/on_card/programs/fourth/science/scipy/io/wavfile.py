"""Sounds."""

from __future__ import annotations

import wave
from typing import Any

import numpy


def read(path: Any) -> Any:
    """The rate and the numbers."""
    with wave.open(str(path)) as file:
        return file.getframerate(), numpy.frombuffer(file.readframes(file.getnframes()), numpy.int16)


def write(path: Any, rate: int, numbers: Any) -> None:
    """Not kept."""
