"""Copies between cards and pinned host memory, on streams of their own."""

from __future__ import annotations

from types import ModuleType
from typing import Any

from .pinned_pool import PinnedPool


class Copies:
    """One stream and one pool of host memory for each card.

    All copies of a card go through the one stream: a buffer that is used again is written after it has been read.
    Devices other than CUDA cards copy at once.
    """

    def __init__(self, torch: ModuleType) -> None:
        self._torch = torch
        self._pools: dict[Any, PinnedPool] = {}
        self._streams: dict[Any, Any] = {}

    def take(self, device: Any, size: int) -> Any | None:
        """A buffer on the host of at least so many bytes."""
        if device not in self._pools:
            self._pools[device] = PinnedPool(self._torch, device.type == "cuda")
        return self._pools[device].take(size)

    def give_back(self, device: Any, buffer: Any) -> None:
        """The buffer may be used for something else."""
        self._pools[device].give_back(buffer)

    def start(self, into: Any, source: Any, device: Any) -> Any | None:
        """Starts a copy, after what the card has been given to do so far; what it returns can be waited for."""
        if device.type != "cuda":
            into.copy_(source)
            return None
        stream = self._stream(device)
        stream.wait_stream(self._torch.cuda.current_stream(device))
        with self._torch.cuda.stream(stream):
            into.copy_(source, non_blocking=True)
        return stream.record_event()

    def bring(self, buffer: Any, device: Any) -> tuple[Any, Any | None]:
        """Starts a copy of a buffer to new memory on the card."""
        # Memory of the stream that will use it: there it can be freed without waiting.
        on_card = self._torch.empty(buffer.numel(), dtype=buffer.dtype, device=device)
        return on_card, self.start(on_card, buffer, device)

    def wait(self, copied: Any | None, device: Any) -> None:
        """Lets what the card is given to do next wait for a copy."""
        if copied is not None:
            self._torch.cuda.current_stream(device).wait_event(copied)

    def _stream(self, device: Any) -> Any:
        if device not in self._streams:
            self._streams[device] = self._torch.cuda.Stream(device)
        return self._streams[device]
