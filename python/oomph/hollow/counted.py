"""How many elements of a tensor were said to be picked, so that the same tensor is never said to pick another number.

A mask selects in the forward pass, and its gradient selects by the same mask in the backward pass, by when its values may
have been dropped for want of memory. Two numbers for one mask are shapes that do not fit each other.
"""

from __future__ import annotations

from types import ModuleType
from typing import Any, NamedTuple

#: Masks that are remembered before those that are gone are looked for.
_SWEEP_AT = 1024


class _Count(NamedTuple):
    """What was said of one tensor."""

    life: Any
    #: How it lies in its storage, and how often it had been written by then.
    layout: tuple[Any, ...]
    count: int
    assumed: str | None


class Counted:
    """By storage; the last tensor of each."""

    def __init__(self, torch: ModuleType) -> None:
        self._has_storage = torch._C._has_storage
        self._life = torch.multiprocessing.reductions.StorageWeakRef
        address = getattr(torch._C, "_storage_address", None)
        self._address = address or (lambda tensor: tensor.untyped_storage()._cdata)
        self._counts: dict[int, _Count] = {}
        self._sweep_at = _SWEEP_AT

    def note(self, tensor: Any, count: int, assumed: str | None) -> None:
        """So many of the tensor's elements were picked, and what was assumed for that."""
        if not self._has_storage(tensor):
            return
        if len(self._counts) >= self._sweep_at:
            self._counts = {at: kept for at, kept in self._counts.items() if not kept.life.expired()}
            self._sweep_at = max(_SWEEP_AT, 2 * len(self._counts))
        life = self._life(tensor.untyped_storage())
        self._counts[self._address(tensor)] = _Count(life, _layout(tensor), count, assumed)

    def of(self, tensor: Any) -> tuple[int, str | None] | None:
        """What was said of the tensor, if it holds the same as then."""
        kept = self._counts.get(self._address(tensor)) if self._has_storage(tensor) else None
        if kept is None or kept.life.expired() or kept.layout != _layout(tensor):
            return None
        return kept.count, kept.assumed


def _layout(tensor: Any) -> tuple[Any, ...]:
    # In inference mode nobody counts the writes, nor does a backward pass follow.
    version = object() if tensor.is_inference() else tensor._version
    return version, tensor.dtype, tensor.storage_offset(), tuple(tensor.size()), tuple(tensor.stride())
