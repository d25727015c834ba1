"""Random numbers of the host that were not drawn: whoever draws next gets what would have come after them.

PyTorch's generator on the host gives words of 32 bits, one or two for each element. Those of weights that nobody reads
are owed, and drawn at once when somebody wants to see what follows.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from types import ModuleType
from typing import Any

#: Words drawn to catch up at most: about a second's worth.
MOST_WORDS = 1 << 28
#: Words drawn at a time.
PIECE_WORDS = 1 << 18
#: Normal numbers are made by sixteens; the last sixteen are drawn again where the count is no multiple.
GROUP = 16


class Draws:
    """What each generator owes."""

    def __init__(self, note: Callable[[str], None]) -> None:
        self._note = note
        self._owed: dict[Any, int] = {}

    def install(self, torch: ModuleType) -> None:
        """Watches those who look at the default generator or set it."""
        self._torch = torch
        self._uniform = torch.Tensor.uniform_
        for name, act in (("get_rng_state", self.catch_up), ("manual_seed", self._forgive), ("set_rng_state", self._forgive)):
            original = getattr(torch.random, name)
            for owner in (torch, torch.random):
                setattr(owner, name, _after(act, original))

    def skip(self, kind: str, tensor: Any, generator: Any = None) -> None:
        """The numbers of a tensor are not drawn."""
        count = tensor.numel()
        if kind == "normal" and count % GROUP:
            count += GROUP
        words = 2 * count if tensor.dtype == self._torch.float64 else count
        key = generator or self._torch.default_generator
        self._owed[key] = self._owed.get(key, 0) + words

    def catch_up(self, generator: Any = None) -> None:
        """Draws what is owed, unless that takes too long."""
        owed = self._owed.pop(generator or self._torch.default_generator, 0) if self._owed else 0
        if owed > MOST_WORDS:
            self._note("random numbers drawn on the host differ from a real run's: those of large weights were not drawn")
            return
        piece = self._torch.empty(min(owed, PIECE_WORDS), dtype=self._torch.float32, device="cpu") if owed else None
        while owed:
            part = piece[:owed]
            self._uniform(part, generator=generator)
            owed -= part.numel()

    def _forgive(self) -> None:
        self._owed.pop(self._torch.default_generator, None)


def _after(act: Callable[[], None], original: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(original)
    def function(*args: Any, **kwargs: Any) -> Any:
        act()
        return original(*args, **kwargs)

    return function
