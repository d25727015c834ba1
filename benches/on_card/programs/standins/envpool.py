"""Stands in for envpool: many Atari games at once, of random frames."""

from __future__ import annotations

from typing import Any

import gym
import numpy


class _Games:
    def __init__(self, count: int) -> None:
        self.num_envs, self._count = count, count
        self.action_space, self.observation_space = gym.Discrete(18), gym.Box(0, 255, (4, 84, 84), numpy.uint8)
        self.single_action_space, self.single_observation_space = self.action_space, self.observation_space
        self._chance, self._frames = numpy.random.default_rng(0), 0
        self._drawn = self._chance.integers(0, 255, (count, 4, 84, 84), dtype=numpy.uint8)

    def reset(self) -> Any:
        return self._drawn

    def step(self, action: Any) -> Any:
        self._frames += 1
        over = numpy.full(self._count, self._frames % 400 == 0)
        rewards = self._chance.integers(0, 2, self._count).astype(numpy.float32)
        counts = {"elapsed_step": numpy.full(self._count, self._frames), "lives": numpy.full(self._count, 3), "reward": rewards, "terminated": over, "TimeLimit.truncated": over, "env_id": numpy.arange(self._count)}
        return numpy.roll(self._drawn, 1, axis=1), rewards, over, counts

    def close(self) -> None:
        pass


def make(name: str, env_type: str = "gym", num_envs: int = 1, **named: Any) -> _Games:
    """The games."""
    return _Games(num_envs)
