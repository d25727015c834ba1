"""Where what is watched is written down: a plan's stream beside PyTorch's history, or the black box of a real run."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Protocol

#: Runs a backward pass.
Engine = Callable[..., Any]
#: Called with an optimizer and the arguments of its step.
Hook = Callable[[Any, Any, Any], None]


class Telling(Protocol):
    """Takes facts."""

    def write(self, kind: str, *values: Any) -> None:
        """Writes one fact."""

    def stage(self, text: str) -> None:
        """Says what the job is doing now, for people who wait."""


class Recording(Protocol):
    """Takes moments, and what tensors are for."""

    #: Whether a card is used and recorded.
    recording: bool

    def mark(self, name: str, stage: str, device: int = 0) -> None:
        """Notes the start or the end of a stretch."""

    def mark_step(self, step: int) -> None:
        """Notes that a step begins."""

    def count_batch(self, batches: int) -> None:
        """Notes how many outermost calls of modules are done."""

    def hooks(self, engine: Engine, began: Callable[[], None], before: Hook, after: Hook) -> tuple[Engine, Hook, Hook]:
        """What PyTorch is to call in place of its own function for backward passes, and before and after each step of an
        optimizer: functions that call `began` when a backward pass begins, `before` and `after`, or do what these would
        have done."""

    def lead(self, optimizer: int, step: int) -> None:
        """The optimizer at this place has taken the job's last step; 0 if it is gone."""

    def led_steps(self) -> int:
        """Steps of that optimizer which `after` was not called for, since this was last asked."""

    def wants_tags(self, step: int) -> bool:
        """Whether tensors are looked at in this step."""

    def tagging(self) -> float:
        """Begins to look what tensors are for."""

    def tag(self, tensor: Any, category: str, time_us: int, module: int | None = None) -> None:
        """Says what the storage of a tensor is for, and which module's, if it lies on a card."""

    def tagged(self, began: float) -> None:
        """All tensors of a group are tagged."""
