"""Scaling and padding."""

from __future__ import annotations

from typing import Any

import numpy


def normalize(values: Any, **named: Any) -> Any:
    """At most one."""
    return values / max(abs(values).max(), 1e-9)


def pad_center(values: Any, size: int, **named: Any) -> Any:
    """In the middle of zeros."""
    before = (size - len(values)) // 2
    return numpy.pad(values, (before, size - len(values) - before))


def tiny(values: Any) -> float:
    """The smallest number that can be told from zero."""
    return float(numpy.finfo(numpy.float32).tiny)
