"""What the losses of torch divide by: the items that count in a mean.

A mean over a part of a batch weighs what the part's items are of all. Items that are ignored or weighted by their class
make that another number than the rows; a loss function that is called says which.
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from types import ModuleType
from typing import Any


class Counting:
    """Listens to the loss functions of torch."""

    def __init__(self) -> None:
        #: The items of each mean since the list was put here; None while nobody listens.
        self.heard: list[float] | None = None
        #: Whether the values of tensors can be looked at. Those of a card that computes nothing cannot.
        self.knows_values = True
        self._depth = 0

    def install(self, torch: ModuleType) -> None:
        """Stands around every function of `torch.nn.functional` that reduces a loss."""
        functional = torch.nn.functional
        for name, function in list(vars(functional).items()):
            if name.startswith("_") or not inspect.isfunction(function):
                continue
            signature = inspect.signature(function)
            if "reduction" in signature.parameters:
                setattr(functional, name, self._around(torch, function, signature))

    def _around(self, torch: ModuleType, function: Callable[..., Any], signature: inspect.Signature) -> Any:
        is_compiling = torch.compiler.is_compiling

        @functools.wraps(function)
        def loss(*args: Any, **kwargs: Any) -> Any:
            if is_compiling() or self.heard is None or self._depth:
                return function(*args, **kwargs)
            self._depth += 1
            try:
                result = function(*args, **kwargs)
            finally:
                self._depth -= 1
            self.heard += self._items(torch, signature.bind(*args, **kwargs))
            return result

        return loss

    def _items(self, torch: ModuleType, call: inspect.BoundArguments) -> list[float]:
        call.apply_defaults()
        arguments = call.arguments
        is_mean = arguments["reduction"] == "mean" and arguments.get("reduce") is not False
        if arguments["reduction"] == "batchmean":
            return [float(next(iter(arguments.values())).shape[0])]
        if not is_mean or arguments.get("size_average") is False:
            return []
        target = arguments.get("target")
        if "ignore_index" not in arguments or target is None:
            return [float(next(iter(arguments.values())).numel())]
        if target.is_floating_point() or not self.knows_values:
            return [float(target.numel())]
        with torch.no_grad():
            counted = target != arguments["ignore_index"]
            weight = arguments.get("weight")
            if weight is not None:
                counted = weight.to(torch.float64)[target.clamp(0, len(weight) - 1)] * counted
            return [float(counted.sum())]
