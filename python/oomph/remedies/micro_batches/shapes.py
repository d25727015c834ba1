"""Whether rows of a batch are compared with each other, by the shapes of what is computed alone.

A card that computes nothing has no losses to compare. But a loss that compares rows makes tables of rows by rows: with
three rows instead of two, such a tensor grows along two dimensions, or by the square along one.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Sequence
from types import ModuleType
from typing import Any

#: What one run computed: each operator with the shape of its result.
Computed = list[tuple[str, tuple[int, ...]]]


@contextlib.contextmanager
def recorded(torch: ModuleType, computed: Computed) -> Iterator[None]:
    """Writes down what is computed meanwhile."""
    from torch.utils._python_dispatch import TorchDispatchMode

    class Mode(TorchDispatchMode):
        def __torch_dispatch__(self, function: Any, _types: Any, args: Any = (), kwargs: Any = None) -> Any:
            result = function(*args, **(kwargs or {}))
            if isinstance(result, torch.Tensor):
                computed.append((str(function), tuple(result.shape)))
            return result

    with Mode():
        yield


def compare_rows(runs: Sequence[tuple[int, Computed]]) -> bool:
    """Whether runs of the same statements, each with so many rows, made tables of rows by rows."""
    rows = [count for count, _ in runs]
    for operations in zip(*(computed for _, computed in runs)):
        names, shapes = zip(*operations)
        if len(set(names)) > 1 or len({len(shape) for shape in shapes}) > 1:
            # From here on the runs did different things.
            return False
        powers = [_power(sizes, rows) for sizes in zip(*shapes)]
        if sum(powers) > 1:
            return True
    return False


def _power(sizes: Sequence[int], rows: Sequence[int]) -> int:
    """With which power of the rows a dimension grows: 0, 1 or 2."""
    for power in (1, 2):
        if len({size / count**power for size, count in zip(sizes, rows)}) == 1:
            return power if len(set(rows)) > 1 and sizes[0] else 0
    return 0
