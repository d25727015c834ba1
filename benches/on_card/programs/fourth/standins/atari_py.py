"""Stands in for Atari's machine: screens drawn at random, in episodes of three hundred frames."""

from __future__ import annotations

from typing import Any

import numpy


def list_games() -> list[str]:
    """One."""
    return ["space_invaders"]


def get_game_path(game: str) -> str:
    """Nowhere."""
    return game


class ALEInterface:
    """The machine."""

    def __init__(self) -> None:
        self._chance, self._frame = numpy.random.default_rng(0), 0
        self._screen = self._chance.integers(0, 256, (210, 160), dtype=numpy.uint8)

    def loadROM(self, path: str) -> None:
        """Nothing to load."""

    setInt = setFloat = setBool = lambda self, name, value: None

    def getMinimalActionSet(self) -> list[int]:
        """Six."""
        return [0, 1, 3, 4, 11, 12]

    def reset_game(self) -> None:
        """From the beginning."""
        self._frame = 0

    def act(self, action: int) -> float:
        """One frame further."""
        self._frame += 1
        return float(self._frame % 40 == 0)

    def game_over(self) -> bool:
        """After a while."""
        return self._frame >= 300

    def lives(self) -> int:
        """Three."""
        return 3

    def getScreenGrayscale(self) -> Any:
        """What is seen."""
        return numpy.roll(self._screen, self._frame, 1)
