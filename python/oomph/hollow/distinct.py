"""How many different values a tensor can hold, where its type or what made it says so and the values are not known."""

from __future__ import annotations

from types import ModuleType
from typing import Any

from .operators import Shape
from .storages import ByStorage, writes

#: Which result of an operator holds indices into one of the dimensions of its input.
_INDICES = {"argmax": 0, "argmin": 0, "max": 1, "min": 1, "topk": 1, "sort": 1}


class Distinct:
    """By storage, so that views of a tensor are known too."""

    def __init__(self, torch: ModuleType) -> None:
        self._most: ByStorage[tuple[int | None, int]] = ByStorage(torch)
        self._by_type = {torch.bool: 2, torch.uint8: 1 << 8, torch.int8: 1 << 8}

    def note(self, shape: Shape, args: tuple[Any, ...], kwargs: dict[str, Any], outputs: list[Any]) -> None:
        """An index is smaller than the size of its dimension."""
        at = _INDICES.get(shape.name)
        if at is None or at >= len(outputs) or not outputs[at].is_cuda:
            return
        tensor, along = args[0], shape.argument("dim", args, kwargs)
        most = tensor.numel() if along is None or tensor.dim() == 0 else tensor.size(along)
        self._most.put(outputs[at], (writes(outputs[at]), most))

    def of(self, tensor: Any) -> int:
        """At most so many, and never more than it has elements."""
        most = min(tensor.numel(), self._by_type.get(tensor.dtype, tensor.numel()))
        noted = self._most.get(tensor)
        if noted is None or noted[0] is None or noted[0] != writes(tensor):
            return most
        return min(most, noted[1])
