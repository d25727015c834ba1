"""Keeps Python's garbage collector from noticing what is written down.

Scripts leave cycles behind that hold tensors, and the collector frees those once enough objects were made since it last
ran. Objects of ours that stay would make it run earlier than in a real run, and the peaks would be others.
"""

from __future__ import annotations

import gc
from types import TracebackType
from typing import Any


class Unnoticed:
    """A context whose objects do not count. Its like may be nested."""

    def __init__(self) -> None:
        self._depth = 0
        self._is_enabled = False
        self._before = 0
        #: By how much the collector's first threshold is raised.
        self._raised = 0
        #: What looking at the count changes about it by itself.
        self._own = 0

    def install(self) -> None:
        """Hears of collections: they begin to count anew."""
        with self:
            pass
        self._own = self._raised
        self._raise_by(-self._raised)
        gc.callbacks.append(self._on_collection)

    def _on_collection(self, phase: str, _info: dict[str, Any]) -> None:
        if phase == "stop":
            self._raise_by(-self._raised)

    def __enter__(self) -> None:
        self._depth += 1
        if self._depth == 1:
            self._is_enabled = gc.isenabled()
            gc.disable()
            self._before = gc.get_count()[0]

    def __exit__(
        self, _kind: type[BaseException] | None, _value: BaseException | None, _trace: TracebackType | None
    ) -> None:
        self._depth -= 1
        if self._depth:
            return
        self._raise_by(gc.get_count()[0] - self._before - self._own)
        if self._is_enabled:
            gc.enable()

    def _raise_by(self, count: int) -> None:
        if not count:
            return
        first, second, third = gc.get_threshold()
        if not first:
            # The script does without.
            return
        self._raised += count
        gc.set_threshold(max(1, first + count), second, third)
