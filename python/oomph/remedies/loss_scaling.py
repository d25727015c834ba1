"""Keeps gradients in float16 from vanishing, as `torch.amp.GradScaler` does, for a script that has none.

The backward pass starts from a gradient that is large, and each weight's gradient is made small again before it is
added to `.grad`: whoever reads, clips or sums up gradients sees the true ones.
"""

from __future__ import annotations

from collections.abc import Iterable
from types import ModuleType
from typing import Any

from . import steps
from .desk import Desk

#: As `GradScaler` does it.
FIRST_SCALE = 65536.0
STEPS_BEFORE_GROWTH = 2000


class LossScaling:
    """One scale for the whole process."""

    def __init__(self, torch: ModuleType, desk: Desk) -> None:
        from torch.utils.weak import WeakTensorKeyDictionary

        self._torch = torch
        self._desk = desk
        self.scale = FIRST_SCALE
        self._good_steps = 0
        self._is_scaled = False
        self._watched = WeakTensorKeyDictionary()
        self._watch_backward()
        self._watch_optimizers()
        steps.around_all_steps(torch, self._step)

    def watch(self, parameters: Iterable[Any]) -> None:
        """Makes the gradients of these parameters small again."""
        for parameter in parameters:
            if parameter.requires_grad and parameter not in self._watched:
                self._watched[parameter] = True
                parameter.register_hook(self._unscaled)

    def _unscaled(self, gradient: Any) -> Any:
        # `torch.autograd.grad` comes by here too, and its gradients were never large.
        return gradient / self.scale if self._is_scaled else None

    def _watch_backward(self) -> None:
        engine = self._torch.autograd._engine_run_backward

        def _engine_run_backward(tensors: Any, seeds: Any, *rest: Any, **kwargs: Any) -> Any:
            if not kwargs.get("accumulate_grad") or self._is_scaled:
                return engine(tensors, seeds, *rest, **kwargs)
            self._is_scaled = True
            try:
                large = tuple(None if seed is None else seed * self.scale for seed in seeds)
                return engine(tensors, large, *rest, **kwargs)
            finally:
                self._is_scaled = False

        self._torch.autograd._engine_run_backward = _engine_run_backward

    def _watch_optimizers(self) -> None:
        base = self._torch.optim.Optimizer
        original, scaling = base.add_param_group, self

        def add_param_group(self: Any, *args: Any, **kwargs: Any) -> Any:
            result = original(self, *args, **kwargs)
            scaling.watch(steps.parameters_of(self))
            return result

        base.add_param_group = add_param_group

    def _step(self, below: steps.Step, optimizer: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """Leaves out a step whose gradients are not finite, and finds the largest scale at which they are."""
        if steps.closure_of(args, kwargs) is not None:
            self.scale = 1.0
            self._desk.refuse("losses are not scaled: the script gives its optimizer a closure")
        elif not self._is_finite(optimizer):
            self.scale, self._good_steps = self.scale / 2, 0
            self._desk.note("some steps were left out because gradients were not finite in float16, as GradScaler does")
            return None
        self._good_steps += 1
        if self._good_steps == STEPS_BEFORE_GROWTH and self.scale > 1.0:
            self.scale, self._good_steps = self.scale * 2, 0
        return below(optimizer, *args, **kwargs)

    def _is_finite(self, optimizer: Any) -> bool:
        """Asks all gradients at once: one answer from each card."""
        by_kind: dict[Any, list[Any]] = {}
        for parameter in steps.parameters_of(optimizer):
            gradient = parameter.grad
            if gradient is not None:
                values = gradient._values() if gradient.is_sparse else gradient
                by_kind.setdefault((values.device, values.dtype), []).append(values)
        for (device, _), gradients in by_kind.items():
            found, unchanged = self._torch.zeros((), device=device), self._torch.ones((), device=device)
            self._torch._amp_foreach_non_finite_check_and_unscale_(gradients, found, unchanged)
            if found.item():
                return False
        return True
