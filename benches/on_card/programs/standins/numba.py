"""Stands in for numba: functions as they are."""

from __future__ import annotations

from typing import Any


def jit(given: Any = None, *more: Any, **named: Any) -> Any:
    """Not compiled."""
    return given if callable(given) else (lambda function: function)


njit = jit
