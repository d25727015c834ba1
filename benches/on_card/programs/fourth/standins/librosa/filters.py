"""Mel filters."""

from __future__ import annotations

from typing import Any

import numpy


def mel(sr: float = 22_050, n_fft: int = 2048, n_mels: int = 128, fmin: float = 0, fmax: float | None = None, **named: Any) -> Any:
    """Triangles over the bins, evenly spread: the shape is what counts."""
    bins = 1 + n_fft // 2
    centres = numpy.linspace(0, bins, n_mels + 2)[1:-1, None]
    return numpy.maximum(0, 1 - numpy.abs(numpy.arange(bins)[None] - centres) / (bins / n_mels)).astype(numpy.float32)
