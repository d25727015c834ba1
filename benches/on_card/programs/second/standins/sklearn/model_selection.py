"""Splits."""

from __future__ import annotations

from typing import Any, Iterator

import numpy


class StratifiedKFold:
    """Every so-manieth one is for the test."""

    def __init__(self, n_splits: int = 5, **named: Any) -> None:
        self._splits = n_splits

    def split(self, values: Any, labels: Any) -> Iterator[tuple[Any, Any]]:
        """Places to train with and to test with."""
        every = numpy.arange(len(labels))
        for at in range(self._splits):
            yield every[every % self._splits != at], every[every % self._splits == at]
