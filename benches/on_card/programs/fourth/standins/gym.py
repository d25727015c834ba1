"""Stands in for gym with D4RL's environments: what was recorded, and episodes drawn at random."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy

OBSERVED, MOVED, LENGTH = 17, 6, 200


class Box:
    """Numbers between two."""

    def __init__(self, shape: Any) -> None:
        self.shape, self.low, self.high = shape, numpy.full(shape, -1, numpy.float32), numpy.full(shape, 1, numpy.float32)
        self._chance = numpy.random.default_rng(0)

    def seed(self, seed: Any) -> None:
        """Drawn from here on."""
        self._chance = numpy.random.default_rng(seed)

    def sample(self) -> Any:
        """One point."""
        return self._chance.uniform(-1, 1, self.shape).astype(numpy.float32)


class Env:
    """Half a cheetah that runs at random."""

    def __init__(self) -> None:
        self.observation_space, self.action_space = Box((OBSERVED,)), Box((MOVED,))
        self._max_episode_steps, self._left = LENGTH, LENGTH
        self.unwrapped = self

    def seed(self, seed: Any = None) -> None:
        """Repeatable."""
        self.observation_space.seed(seed)

    def reset(self) -> Any:
        """A new episode."""
        self._left = LENGTH
        return self.observation_space.sample()

    def step(self, action: Any) -> Any:
        """Somewhere else."""
        self._left -= 1
        return self.observation_space.sample(), 0.5, self._left <= 0, {}

    def get_dataset(self) -> dict[str, Any]:
        """A hundred episodes that were recorded."""
        chance, many = numpy.random.default_rng(0), 100 * LENGTH
        ends = numpy.arange(many) % LENGTH == LENGTH - 1
        drawn = {"observations": OBSERVED, "actions": MOVED, "next_observations": OBSERVED}
        read = {name: chance.uniform(-1, 1, (many, wide)).astype(numpy.float32) for name, wide in drawn.items()}
        return {**read, "rewards": chance.random(many).astype(numpy.float32), "terminals": numpy.zeros(many, bool), "timeouts": ends}

    def get_normalized_score(self, score: Any) -> Any:
        """As it is."""
        return score


class Wrapper(Env):
    """An environment around another."""

    def __init__(self, env: Env, change: Any) -> None:
        super().__init__()
        self.env, self._change = env, change


class TransformObservation(Wrapper):
    """Others are seen."""

    def reset(self) -> Any:
        """Changed."""
        return numpy.ravel(self._change(self.env.reset()))

    def step(self, action: Any) -> Any:
        """Changed."""
        seen, *rest = self.env.step(action)
        return (numpy.ravel(self._change(seen)), *rest)


class TransformReward(Wrapper):
    """Others are earned."""

    def reset(self) -> Any:
        """That of the other."""
        return self.env.reset()

    def step(self, action: Any) -> Any:
        """Changed."""
        seen, earned, *rest = self.env.step(action)
        return (seen, self._change(earned), *rest)


wrappers = SimpleNamespace(TransformObservation=TransformObservation, TransformReward=TransformReward)


def make(name: str, **named: Any) -> Env:
    """One environment."""
    return Env()


def __getattr__(name: str) -> Any:
    if name.startswith("__"):
        raise AttributeError(name)
    return SimpleNamespace(register=lambda **named: None, registration=SimpleNamespace(register=lambda **named: None))
