"""Steps each parameter as soon as its gradient is complete, and frees the gradient: never are all there at once.

The step is the optimizer's own, for one parameter. A script that needs all gradients at once, to clip or to scale or to
sum them up, is left as it was: its first step is watched before anything is changed.
"""

from __future__ import annotations

import importlib
import weakref
from types import ModuleType
from typing import Any

from . import steps
from .backward_stepping import Stepping, why_not
from .desk import Desk

_of_optimizers: weakref.WeakKeyDictionary[Any, Stepping] = weakref.WeakKeyDictionary()


def step_in_backward(optimizer: Any) -> None:
    """Lets the backward pass take this optimizer's steps; `optimizer.step()` then ends the step.

    Call it right after the optimizer is made, before its schedulers. There must be one backward pass a step, and
    nothing that reads gradients in between (clipping, `GradScaler`): whatever does gets a clear error.
    """
    import torch

    if optimizer in _of_optimizers:
        return
    why = why_not(torch, optimizer, own_hooks=0)
    if why:
        raise ValueError(f"step_in_backward: {why}")
    stepping = Stepping(torch, optimizer, 0, _step_of_any, _tell_nobody, _tell_nobody)
    steps.around_steps_of(torch, optimizer, _step_of_any)
    # It lives as long as the optimizer.
    _of_optimizers[optimizer] = stepping


def install(torch: ModuleType, desk: Desk, watch_steps: int = 1) -> None:
    """Does it to every optimizer there will be, after watching so many steps of it.

    Several optimizers are watched for one step more: what comes between two steps of one shows only then. With
    `watch_steps=0` the first step is taken in backward too, and a script that is not fit for it gets an error.
    """
    base = importlib.import_module("torch.optim.optimizer").Optimizer
    original = base.__init__

    def __init__(self: Any, *args: Any, **kwargs: Any) -> None:
        original(self, *args, **kwargs)
        several = len(_of_optimizers) > 0
        for other in list(_of_optimizers.values()):
            other.watch_longer()
        if self not in _of_optimizers:
            watched = watch_steps + 1 if several and watch_steps else watch_steps
            _of_optimizers[self] = Stepping(torch, self, watched, _step_of_any, desk.refuse, desk.applied)

    __init__.__wrapped__ = original  # type: ignore[attr-defined]
    base.__init__ = __init__
    steps.around_all_steps(torch, _step_of_any)


def _step_of_any(below: steps.Step, optimizer: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    stepping = _of_optimizers.get(optimizer)
    if stepping is None:
        return below(optimizer, *args, **kwargs)
    return stepping.step(below, optimizer, args, kwargs)


def _tell_nobody(*_args: Any, **_facts: Any) -> None:
    """Done by hand, nobody is told: what does not fit was an error, or will be one."""
