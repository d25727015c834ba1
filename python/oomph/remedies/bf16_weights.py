"""Weights and gradients in bfloat16, stepped in float32."""

from __future__ import annotations

import weakref
from collections.abc import Callable, Iterator
from types import ModuleType
from typing import Any

from . import autocast, models, steps
from .desk import Desk
from .rounding import StochasticRounding

ROUNDING = ("stochastic", "master")

def bf16_weights(model: Any, optimizer: Any, rounding: str = "stochastic") -> int:
    """Turns the float32 weights of a model into bfloat16; returns how many bytes of weights that saves.

    Call it before the first step. Calls of the model run under autocast and return float32; a step of a weight is
    computed in float32 and rounded: at random (`stochastic`; the optimizer's state is in bfloat16 then as well), or
    from a float32 copy that is kept beside it (`master`).
    """
    import torch

    why = steps.why_not_in_parts(torch, optimizer) or _why_not(torch, model, rounding)
    if why:
        raise ValueError(f"bf16_weights: {why}")
    stepper = _Stepper(torch, rounding, lambda _why: None)
    steps.around_steps_of(torch, optimizer, stepper.step)
    return stepper.convert(models.unwrapped(model))


def install(torch: ModuleType, desk: Desk, rounding: str = "stochastic") -> None:
    """Does it to every model that the script trains, right before its first call."""
    stepper = _Stepper(torch, rounding, desk.refuse)

    def before_first(model: Any) -> None:
        if models.in_backward():
            return
        root = models.unwrapped(model)
        why = _why_not(torch, model, rounding) or stepper.why_not(root)
        if why:
            desk.refuse(why)
            return
        desk.applied(model=type(root).__name__, rounding=rounding, saved_bytes=stepper.convert(root))

    desk.calls.before_first(before_first)
    stepper.watch_optimizers()
    steps.around_all_steps(torch, stepper.step)


def _why_not(torch: ModuleType, model: Any, rounding: str) -> str | None:
    if rounding not in ROUNDING:
        raise ValueError(f"rounding must be one of {ROUNDING}, not {rounding!r}")
    distributed = torch.distributed
    if distributed.is_available() and distributed.is_initialized() and distributed.get_world_size() > 1:
        return "the weights stay as they are: several processes have agreed on their types already"
    why = autocast.why_not(torch, model, "bfloat16")
    return f"{type(models.unwrapped(model)).__name__} stays as it is: {why}" if why else None


class _Stepper:
    """Steps weights that are in bfloat16."""

    def __init__(self, torch: ModuleType, rounding: str, refuse: Callable[[str], None]) -> None:
        from torch.utils.weak import WeakTensorKeyDictionary

        self._torch = torch
        self._rounding = rounding
        self._refuse = refuse
        self._optimizers: weakref.WeakSet[Any] = weakref.WeakSet()
        self._unfit: weakref.WeakSet[Any] = weakref.WeakSet()
        self._fit: weakref.WeakSet[Any] = weakref.WeakSet()
        #: The weights that were turned into bfloat16, with the float32 values behind each where they are kept.
        self._masters = WeakTensorKeyDictionary()
        self._random = StochasticRounding(torch)

    def watch_optimizers(self) -> None:
        """Knows every optimizer there will be: each must be able to step one weight at a time."""
        base = self._torch.optim.Optimizer
        original, optimizers = base.__init__, self._optimizers

        def __init__(self: Any, *args: Any, **kwargs: Any) -> None:
            original(self, *args, **kwargs)
            optimizers.add(self)

        __init__.__wrapped__ = original  # type: ignore[attr-defined]
        base.__init__ = __init__

    def why_not(self, root: Any) -> str | None:
        """Why the optimizer of a model cannot step it so."""
        own = {id(parameter) for parameter in root.parameters()}
        for optimizer in list(self._optimizers):
            if any(id(parameter) in own for parameter in steps.parameters_of(optimizer)):
                why = steps.why_not_in_parts(self._torch, optimizer)
                if why or any(optimizer.state.values()):
                    return why or f"{type(optimizer).__name__} has taken steps in float32 already"
        return None

    def convert(self, root: Any) -> int:
        """Turns weights into bfloat16; returns the bytes saved."""
        torch, saved_bytes = self._torch, 0
        for parameter in _weights(root):
            if parameter.dtype is torch.float32 and parameter not in self._masters:
                self._masters[parameter] = parameter.data if self._rounding == "master" else None
                parameter.data = parameter.data.to(torch.bfloat16)
                parameter.grad = None
                saved_bytes += 2 * parameter.numel() if self._rounding == "stochastic" else 0
        autocast.around(torch, root, "bfloat16", self._refuse)
        return saved_bytes

    def step(self, below: steps.Step, optimizer: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """Takes one step, weight by weight."""
        torch = self._torch
        if not any(parameter in self._masters for parameter in steps.parameters_of(optimizer)):
            return below(optimizer, *args, **kwargs)
        closure, result = steps.closure_of(args, kwargs), None
        if not self._is_fit(optimizer, closure is not None):
            return below(optimizer, *args, **kwargs)
        if closure is not None:
            with torch.enable_grad():
                result = closure()
        waiting = [parameter for parameter in steps.parameters_of(optimizer) if parameter.grad is not None]
        parts = steps.Parts(below, optimizer)
        plain = [parameter for parameter in waiting if parameter not in self._masters]
        if plain:
            parts.take(plain)
        for parameter in waiting:
            if parameter in self._masters:
                self._step_one(parts, optimizer, parameter)
        return result

    def _is_fit(self, optimizer: Any, has_closure: bool) -> bool:
        if optimizer not in self._fit and optimizer not in self._unfit:
            why = steps.why_not_in_parts(self._torch, optimizer)
            if not why and has_closure and not steps.evaluates_first(self._torch, optimizer):
                why = f"{type(optimizer).__name__} calls the script's closure in the middle of its step."
            (self._unfit if why else self._fit).add(optimizer)
            if why:
                self._refuse(f"Its steps are rounded to the nearest bfloat16: {why}")
        return optimizer in self._fit

    def _step_one(self, parts: steps.Parts, optimizer: Any, parameter: Any) -> None:
        weight, gradient, master = parameter.data, parameter.grad, self._masters[parameter]
        # A gradient must have its parameter's type, always.
        parameter.grad = None
        parameter.data = weight.float() if master is None else master
        parameter.grad = gradient.float()
        self._turn_state(optimizer, parameter, self._torch.bfloat16, lambda values: values.float())
        try:
            parts.take([parameter])
        finally:
            stepped = parameter.data
            parameter.grad = None
            parameter.data = weight
            parameter.grad = gradient
        if master is None:
            weight.copy_(self._random.rounded(stepped))
            self._turn_state(optimizer, parameter, self._torch.float32, self._random.rounded)
        else:
            weight.copy_(stepped)

    def _turn_state(self, optimizer: Any, parameter: Any, dtype: Any, turned: Callable[[Any], Any]) -> None:
        """Turns what the optimizer keeps for each value of a weight; counts and the like stay as they are."""
        state = optimizer.state.get(parameter) or {}
        for name, value in state.items():
            is_whole = type(value) is self._torch.Tensor and value.dim() and value.shape == parameter.shape
            if is_whole and value.dtype is dtype:
                state[name] = turned(value)


def _weights(root: Any) -> Iterator[Any]:
    """The weights of modules that can compute in bfloat16: those with running statistics keep all of theirs."""
    for module in root.modules():
        has_statistics = any(b is not None and b.is_floating_point() for b in module._buffers.values())
        if not has_statistics and not hasattr(module, "flatten_parameters"):
            yield from (parameter for parameter in module._parameters.values() if parameter is not None)
