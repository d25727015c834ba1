"""Random numbers."""

from __future__ import annotations

from typing import Any

import numpy


class truncnorm:
    """A bell that is cut off at both ends."""

    def __init__(self, low: float, high: float, loc: float = 0.0, scale: float = 1.0) -> None:
        self._low, self._high, self._loc, self._scale = low, high, loc, scale

    def rvs(self, count: int = 1) -> Any:
        """Drawn again and again until enough lie between the ends."""
        kept: list[float] = []
        while len(kept) < count:
            kept.extend(one for one in numpy.random.standard_normal(4 * count) if self._low <= one <= self._high)
        return self._loc + self._scale * numpy.array(kept[:count])
