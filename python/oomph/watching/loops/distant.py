"""Branches that depend on a counter, in functions that a loop calls: `if self.step % 500 == 0` in `after_step`."""

from __future__ import annotations

import weakref
from dataclasses import dataclass, field
from types import FrameType
from typing import Any

from . import frames
from .conditions import Counters, place
from .sites import Branch


@dataclass(eq=False)
class Distant(Branch):
    """Such a branch. Its function is gone when the loop would end: who holds the counters is remembered."""

    counters: Counters = field(default_factory=Counters)
    #: By leaf: the object whose attribute it is.
    owners: dict[str, weakref.ref[Any]] = field(default_factory=dict)
    #: `Walk.activity_total` when its condition was asked last.
    asked_at: int = -1

    def ask(self, frame: FrameType, activity_total: int) -> None:
        """Its condition is about to be asked."""
        self.asked_at = activity_total
        if self.is_taken or self.is_tried:
            return
        self.counters.observe(frames.read(frame, list(self.condition.leaves)))
        for leaf in self.counters.moving(self.condition.leaves):
            if leaf not in self.owners and (owner := frames.owner(frame, leaf)) is not None:
                self.owners[leaf] = owner

    def skip(self, iterations: int) -> bool:
        """Moves its counters on; whether all could be moved."""
        for leaf in self.counters.moving(self.condition.leaves):
            owner = self.owners[leaf]() if leaf in self.owners else None
            if owner is None:
                return False
            try:
                setattr(owner, place(leaf)[2], self.counters.counters[leaf].after(iterations))
            except Exception:  # noqa: BLE001 - a property without a setter
                return False
        return True
