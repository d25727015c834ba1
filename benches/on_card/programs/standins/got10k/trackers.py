"""The base of trackers."""

from __future__ import annotations


class Tracker:
    """A tracker with a name."""

    def __init__(self, name: str, is_deterministic: bool = False) -> None:
        self.name, self.is_deterministic = name, is_deterministic
