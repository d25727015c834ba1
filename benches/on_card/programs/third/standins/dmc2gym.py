"""Stands in for dmc2gym: pictures drawn at random, in episodes of forty steps."""

from __future__ import annotations

from typing import Any

import gym
import numpy


class Pixels(gym.Env):
    """An environment that is seen."""

    def __init__(self, height: int, width: int) -> None:
        super().__init__(1, 2, 40)
        self.observation_space = gym.Box(0, 255, (3, height, width), numpy.uint8)
        self.action_space = gym.Box(-1, 1, (2,))
        self._picture = numpy.random.default_rng(0).integers(0, 256, (3, height, width), dtype=numpy.uint8)
        self.reward_range, self.metadata = (0, 1), {}

    def reset(self, **named: Any) -> Any:
        """A new episode."""
        self._left = self._length
        return self._picture

    def step(self, action: Any) -> Any:
        """Something else is seen."""
        self._left -= 1
        return numpy.roll(self._picture, self._left, 2), 0.5, self._left <= 0, {}


def make(height: int = 84, width: int = 84, **named: Any) -> Pixels:
    """One environment."""
    return Pixels(height, width)
