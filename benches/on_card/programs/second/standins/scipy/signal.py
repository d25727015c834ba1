"""Filters."""

from __future__ import annotations

from typing import Any


def lfilter(numerator: Any, denominator: Any, values: Any) -> Any:
    """As they are."""
    return values
