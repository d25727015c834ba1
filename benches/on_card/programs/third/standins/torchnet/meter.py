"""Averages and confusions, on the host."""

from __future__ import annotations

from typing import Any

import numpy


class AverageValueMeter:
    """The mean of what is added."""

    def __init__(self) -> None:
        self.reset()

    def reset(self) -> None:
        """Nothing yet."""
        self._values: list[float] = []

    def add(self, value: Any, n: int = 1) -> None:
        """One more."""
        self._values.append(float(value))

    def value(self) -> tuple[float, float]:
        """The mean and how far off."""
        return float(numpy.mean(self._values)), float(numpy.std(self._values))


class ConfusionMeter:
    """How often one class is taken for another."""

    def __init__(self, k: int, normalized: bool = False) -> None:
        self._classes = k
        self.reset()

    def reset(self) -> None:
        """Nothing yet."""
        self.conf = numpy.zeros((self._classes, self._classes), dtype=numpy.int32)

    def add(self, predicted: Any, target: Any) -> None:
        """Rows of scores and the classes that they should be."""
        predicted, target = predicted.cpu().squeeze().numpy(), target.cpu().squeeze().numpy()
        if predicted.ndim > 1:
            predicted = predicted.argmax(1)
        numpy.add.at(self.conf, (target.astype(int), predicted.astype(int)), 1)

    def value(self) -> Any:
        """All of them."""
        return self.conf
