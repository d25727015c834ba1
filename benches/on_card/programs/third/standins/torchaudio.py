"""Stands in for torchaudio as far as wave files are read with it."""

from __future__ import annotations

import wave
from typing import Any


def load(path: str) -> Any:
    """Numbers between -1 and 1, a row a channel, and the rate."""
    import numpy
    import torch

    with wave.open(path) as file:
        read = numpy.frombuffer(file.readframes(file.getnframes()), numpy.int16)
        return torch.from_numpy(read.astype(numpy.float32)[None] / 32_768), file.getframerate()
