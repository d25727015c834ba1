"""Calls of the model in half precision, where PyTorch's autocast deems it safe."""

from __future__ import annotations

import weakref
from collections.abc import Callable
from types import ModuleType
from typing import Any

from . import models
from .desk import Desk
from .loss_scaling import LossScaling
from .outputs import in_float32

DTYPES = ("bfloat16", "float16")


def autocast(model: Any, dtype: str = "bfloat16") -> None:
    """Lets the calls of a model run under autocast, and gives its outputs back in float32.

    The loss is then computed in float32, as the script always did. With `float16` gradients may vanish: use PyTorch's
    `GradScaler` with it.
    """
    import torch

    root = models.unwrapped(model)
    why = why_not(torch, model, dtype)
    if why:
        raise ValueError(f"autocast: {type(root).__name__} stays as it is: {why}")
    around(torch, root, dtype, lambda _why: None)


def install(torch: ModuleType, desk: Desk, dtype: str = "bfloat16") -> None:
    """Does it to every model that the script trains; with `float16`, losses are scaled as `GradScaler` does."""
    scaling = LossScaling(torch, desk) if dtype == "float16" else None
    seen: weakref.WeakSet[Any] = weakref.WeakSet()

    def before_first(model: Any) -> None:
        root = models.unwrapped(model)
        if models.in_backward() or root in seen:
            return
        seen.add(root)
        name = type(root).__name__
        why = why_not(torch, model, dtype)
        if why:
            desk.refuse(f"{name} stays as it is: {why}")
            return
        around(torch, root, dtype, desk.refuse)
        if scaling is not None:
            scaling.watch(root.parameters())
        desk.applied(model=name, dtype=dtype)

    desk.calls.before_first(before_first)


def around(torch: ModuleType, root: Any, dtype: str, refuse: Callable[[str], None]) -> None:
    """Lets the calls of a module run under autocast."""
    models.around_forward(root, _Around(torch, root, dtype, refuse))


def why_not(torch: ModuleType, model: Any, dtype: str) -> str | None:
    """Why the calls of a model cannot run under autocast, or should not."""
    if dtype not in DTYPES:
        raise ValueError(f"dtype must be one of {DTYPES}, not {dtype!r}")
    parameters = [parameter for parameter in model.parameters() if parameter.is_floating_point()]
    kinds = {parameter.device.type for parameter in parameters}
    if not parameters:
        return "it has no weights"
    if any(hasattr(module, "_orig_mod") for module in model.modules()):
        return "it is compiled, and autocast would have to be compiled into it"
    if any(parameter.dtype is not torch.float32 for parameter in parameters):
        return "its weights are not all in float32"
    if "forward" in vars(models.unwrapped(model)):
        return "something else has replaced its forward"
    if torch.is_autocast_enabled(next(iter(kinds))):
        return "the script uses autocast itself"
    if dtype == "bfloat16" and "cuda" in kinds and not torch.cuda.is_bf16_supported(including_emulation=False):
        return "this card does not compute in bfloat16"
    return None


class _Around:
    """Stands around the forward of one model."""

    def __init__(self, torch: ModuleType, root: Any, dtype: str, refuse: Callable[[str], None]) -> None:
        self._torch = torch
        # Weakly: as long as the model lives, so does what stands around its forward.
        self._root = weakref.ref(root)
        self._dtype = getattr(torch, dtype)
        self._refuse = refuse

    def __call__(self, call: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        root = self._root()
        device_type = "cpu" if root is None else next(root.parameters()).device.type
        if self._torch.is_autocast_enabled(device_type):
            self._refuse("the script uses autocast itself for some of its calls, which stay as they are")
            return call(*args, **kwargs)
        with self._torch.autocast(device_type, self._dtype):
            result = call(*args, **kwargs)
        return in_float32(self._torch, result)
