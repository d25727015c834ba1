"""How many elements selections picked in the step before, for those that nobody can work out any more."""

from __future__ import annotations

import importlib
import sys
from typing import Any

from ..source_lines import place_of

#: An operator at a line of the script.
Place = tuple[str, str, int]


class EarlierSizes:
    """By place and by how often it was reached in a step: experts of one layer share a line, and their tokens add up."""

    def __init__(self) -> None:
        #: Elements picked, of how many.
        self._now: dict[Place, list[tuple[int, int] | None]] = {}
        self._before: dict[Place, list[tuple[int, int] | None]] = {}

    def install(self) -> None:
        """A step ends with the optimizer's."""
        importlib.import_module("torch.optim.optimizer").register_optimizer_step_post_hook(self.stepped)

    def stepped(self, *_: Any) -> None:
        """What was picked from now on belongs to the next step."""
        self._before.update(self._now)
        self._now.clear()

    def picked(self, operator: str, elements: int, count: int | None) -> int | None:
        """Of so many elements `count` were picked; where that is None, the share that was picked in the step before."""
        place = (operator, *place_of(sys._getframe(1)))
        found, before = self._now.setdefault(place, []), self._before.get(place, [])
        earlier = before[len(found)] if len(found) < len(before) else None
        if count is None and earlier is not None:
            count = earlier[0] * elements // max(1, earlier[1])
        found.append(None if count is None else (count, elements))
        return count
