"""Stands in for the `evaluate` library where it is not installed: every metric is the share of equal answers."""

from __future__ import annotations

from typing import Any

__version__ = "0.4.0"


class Metric:
    """Collects answers and compares them."""

    def __init__(self) -> None:
        self._equal: list[bool] = []

    def add_batch(self, predictions: Any = (), references: Any = ()) -> None:
        self._equal.extend(bool(one == other) for one, other in zip(_plain(predictions), _plain(references)))

    def compute(self, predictions: Any = (), references: Any = (), **_: Any) -> dict[str, float]:
        self.add_batch(predictions, references)
        share = sum(self._equal) / max(len(self._equal), 1)
        self._equal = []
        return {"accuracy": share, "f1": share, "score": share}


def _plain(values: Any) -> list[Any]:
    return list(values.tolist() if hasattr(values, "tolist") else values)


def load(*_: Any, **__: Any) -> Metric:
    return Metric()
