"""Bounds of time and memory."""

from __future__ import annotations

from ..hollow.hostmemory import resident

#: The part of the time that may go into values of which nobody knows whether they decide anything, and into one of them.
_LOST_SHARE, _LOST_SHARE_EACH = 1 / 4, 1 / 20
#: The part of the memory bound from which on results that only the card still holds are dropped.
_CROWDED = 0.7


class Budget:
    """What values may take. Working out: seconds of the whole machine's processors, which a busy machine gives later but
    in the same number. Writing down: as many seconds again, of the threads that run the script. Memory: bytes of the whole
    process."""

    def __init__(self, seconds: float, host_bytes: int) -> None:
        self.seconds, self.host_bytes = seconds, host_bytes
        self.used_seconds = 0.0
        self.recording_seconds = 0.0
        #: Of the seconds used, those for values of which nobody knows whether they decide anything.
        self.lost_seconds = 0.0
        self.most_bytes = 0

    def is_spent(self) -> bool:
        """Whether there is no time left, so that nothing more will ever be worked out."""
        return self.used_seconds >= self.seconds or self.recording_seconds >= self.seconds

    def left_seconds(self, *, is_lost: bool) -> float:
        """What one value may take now."""
        left = self.seconds - self.used_seconds
        if not is_lost:
            return left
        return min(left, _LOST_SHARE_EACH * self.seconds, _LOST_SHARE * self.seconds - self.lost_seconds)

    def resident_bytes(self) -> int:
        """What the process takes now."""
        now, _ = resident()
        self.most_bytes = max(self.most_bytes, now)
        return now

    def is_full(self) -> bool:
        """Whether there is no memory left."""
        return self.resident_bytes() >= self.host_bytes

    def is_crowded(self) -> bool:
        """Whether it is time to drop what may not be needed again."""
        return self.resident_bytes() >= _CROWDED * self.host_bytes
