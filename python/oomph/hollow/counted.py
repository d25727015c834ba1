"""How many elements of a tensor were said to be picked, so that the same tensor is never said to pick another number.

A mask selects in the forward pass, and its gradient selects by the same mask in the backward pass, by when its values may
have been dropped for want of memory. Two numbers for one mask are shapes that do not fit each other.
"""

from __future__ import annotations

from types import ModuleType
from typing import Any, NamedTuple

from .storages import ByStorage, writes


class _Count(NamedTuple):
    """What was said of one tensor."""

    #: How it lies in its storage, and how often it had been written by then.
    layout: tuple[Any, ...]
    count: int
    assumed: str | None


class Counted:
    """By storage; the last tensor of each."""

    def __init__(self, torch: ModuleType) -> None:
        self._counts: ByStorage[_Count] = ByStorage(torch)

    def note(self, tensor: Any, count: int, assumed: str | None) -> None:
        """So many of the tensor's elements were picked, and what was assumed for that."""
        # In inference mode nobody counts the writes, nor does a backward pass follow.
        if writes(tensor) is not None:
            self._counts.put(tensor, _Count(_layout(tensor), count, assumed))

    def of(self, tensor: Any) -> tuple[int, str | None] | None:
        """What was said of the tensor, if it holds the same as then."""
        kept = self._counts.get(tensor)
        return None if kept is None or kept.layout != _layout(tensor) else (kept.count, kept.assumed)


def _layout(tensor: Any) -> tuple[Any, ...]:
    return writes(tensor), tensor.dtype, tensor.storage_offset(), tuple(tensor.size()), tuple(tensor.stride())
