"""Stands in for gym: spaces, wrappers, and environments whose observations are drawn at random."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy


class Discrete:
    """So many actions."""

    def __init__(self, n: int) -> None:
        self.n, self.shape, self._chance = n, (), numpy.random.default_rng(0)

    def seed(self, seed: int) -> None:
        """Drawn from here on."""
        self._chance = numpy.random.default_rng(seed)

    def sample(self) -> int:
        """One of them."""
        return int(self._chance.integers(self.n))


class Box:
    """Numbers between two."""

    def __init__(self, low: Any = -1.0, high: Any = 1.0, shape: Any = None, dtype: Any = numpy.float32) -> None:
        self.shape, self.dtype, self._chance = tuple(shape), numpy.dtype(dtype), numpy.random.default_rng(0)
        self.low, self.high = numpy.full(self.shape, low, self.dtype), numpy.full(self.shape, high, self.dtype)

    def seed(self, seed: int) -> None:
        """Drawn from here on."""
        self._chance = numpy.random.default_rng(seed)

    def sample(self) -> Any:
        """One point."""
        return self._chance.uniform(self.low, self.high).astype(self.dtype)


class Env:
    """Steps that lead anywhere."""

    def __init__(self, observed: int = 376, moved: int = 17, length: int = 200) -> None:
        self.observation_space, self.action_space = Box(-1, 1, (observed,)), Box(-0.4, 0.4, (moved,))
        self._max_episode_steps, self._left, self._length = length, length, length

    def seed(self, seed: int) -> None:
        """Repeatable."""
        self.observation_space.seed(seed)

    def reset(self, **named: Any) -> Any:
        """A new episode."""
        self._left = self._length
        return self.observation_space.sample()

    def step(self, action: Any) -> Any:
        """Somewhere else."""
        self._left -= 1
        return self.observation_space.sample(), 0.5, self._left <= 0, {}

    def close(self) -> None:
        """Nothing is open."""


class Wrapper:
    """An environment around another."""

    def __init__(self, env: Any) -> None:
        self.env = env

    def __getattr__(self, name: str) -> Any:
        return getattr(self.env, name)

    def reset(self, **named: Any) -> Any:
        """That of the other."""
        return self.env.reset(**named)

    def step(self, action: Any) -> Any:
        """That of the other."""
        return self.env.step(action)


spaces = SimpleNamespace(Discrete=Discrete, Box=Box)


def make(name: str, **named: Any) -> Env:
    """An environment of Humanoid's shape."""
    return Env()
