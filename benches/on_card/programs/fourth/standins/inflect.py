"""Stands in for inflect: digits as they are."""

from __future__ import annotations

from typing import Any


class engine:
    """Says numbers."""

    def number_to_words(self, number: Any, **named: Any) -> str:
        """Not in words."""
        return str(number)
