"""Rounds to bfloat16 up or down at random, so that on average nothing is lost."""

from __future__ import annotations

from types import ModuleType
from typing import Any


class StochasticRounding:
    """The chance of rounding up is how far a value is on the way to the next larger bfloat16.

    Small updates, which rounding to the nearest would lose every time, count on average in full. The random numbers
    come from generators of its own, seeded like PyTorch's: runs repeat, and the script's own numbers stay the same.
    """

    def __init__(self, torch: ModuleType) -> None:
        self._torch = torch
        self._generators: dict[Any, Any] = {}

    def rounded(self, values: Any) -> Any:
        """Float32 values in bfloat16."""
        torch = self._torch
        noise = torch.randint(
            0, 1 << 16, values.shape, dtype=torch.int32, device=values.device, generator=self._generator(values.device)
        )
        # A bfloat16 is the upper half of a float32. What is not finite must not be carried into the sign.
        bits = (values.contiguous().view(torch.int32) + noise) & -(1 << 16)
        return torch.where(torch.isfinite(values), bits.view(torch.float32), values).to(torch.bfloat16)

    def _generator(self, device: Any) -> Any:
        if device not in self._generators:
            generator = self._torch.Generator(device)
            generator.manual_seed(self._torch.initial_seed())
            self._generators[device] = generator
        return self._generators[device]
