"""Scores, which are only logged."""

from __future__ import annotations

from typing import Any


def precision_recall_fscore_support(*given: Any, **named: Any) -> tuple[list[float], list[float], list[float], None]:
    """None of them."""
    return [0.0], [0.0], [0.0], None
