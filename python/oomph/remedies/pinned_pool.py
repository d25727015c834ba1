"""Host memory that a card can copy to by itself, taken once and used again from step to step."""

from __future__ import annotations

import bisect
from types import ModuleType
from typing import Any

#: A buffer may be larger than what is asked of it by one part in so many.
_SLACK = 8


class PinnedPool:
    """Buffers of bytes, of the very sizes that were asked for.

    PyTorch's own pinned memory is rounded up to powers of two: of 65 MiB it takes 128. Plain memory that is registered
    with the driver has no such rounding; it stays registered as long as the pool lives.
    """

    def __init__(self, torch: ModuleType, is_pinned: bool, limit_bytes: int | None = None) -> None:
        self._torch = torch
        self._is_pinned = is_pinned
        self._limit_bytes = limit_bytes
        #: Free buffers, the smallest first: their sizes, and the buffers.
        self._sizes: list[int] = []
        self._free: list[Any] = []
        #: All bytes the pool has taken from the host.
        self.taken_bytes = 0

    def take(self, size: int) -> Any | None:
        """A buffer of at least so many bytes; `None` where that would be beyond the limit."""
        place = bisect.bisect_left(self._sizes, size)
        if place < len(self._sizes) and self._sizes[place] <= size + size // _SLACK:
            del self._sizes[place]
            return self._free.pop(place)
        if self._limit_bytes is not None and self.taken_bytes + size > self._limit_bytes:
            return None
        self.taken_bytes += size
        return self._new(size)

    def give_back(self, buffer: Any) -> None:
        """What was taken is free again."""
        size = buffer.numel()
        place = bisect.bisect_left(self._sizes, size)
        self._sizes.insert(place, size)
        self._free.insert(place, buffer)

    def _new(self, size: int) -> Any:
        if not self._is_pinned:
            return self._torch.empty(size, dtype=self._torch.uint8)
        buffer = self._torch.empty(size, dtype=self._torch.uint8)
        if int(self._torch.cuda.cudart().cudaHostRegister(buffer.data_ptr(), size, 0)) == 0:
            # Freed memory must not stay registered: the process keeps it, as PyTorch's own pinned memory is kept.
            _registered.append(buffer)
            return buffer
        return self._torch.empty(size, dtype=self._torch.uint8, pin_memory=True)


_registered: list[Any] = []
