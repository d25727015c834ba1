"""Adam and AdamW with state in 8 or 4 bits, by torchao or bitsandbytes, where one of them is installed."""

from __future__ import annotations

import importlib
import weakref
from collections.abc import Iterator
from contextlib import contextmanager
from types import ModuleType
from typing import Any

from . import steps
from .desk import Desk

#: Where the same optimizer is found with less state, by its class and the bits: tried in this order.
_PLACES = {
    ("Adam", 8): (("torchao.optim", "Adam8bit"), ("bitsandbytes.optim", "Adam8bit")),
    ("AdamW", 8): (("torchao.optim", "AdamW8bit"), ("bitsandbytes.optim", "AdamW8bit")),
    ("Adam", 4): (("torchao.optim", "Adam4bit"),),
    ("AdamW", 4): (("torchao.optim", "AdamW4bit"),),
}
#: Options that both know; whoever sets others to anything but their default gets the optimizer of the script.
_SHARED = ("lr", "betas", "eps", "weight_decay", "amsgrad")
_IGNORED = ("params", "param_names", "foreach", "fused", "initial_lr", "decoupled_weight_decay")


def quantized_optimizer(optimizer: Any, bits: int = 8) -> Any:
    """A new optimizer over the same parameters and options whose state takes 8 (or 4) bits a value.

    Call it right after the optimizer is made, before its schedulers, and go on with what it returns. Needs torchao, or
    bitsandbytes (8 bits).
    """
    import torch

    made = _replacement(torch, optimizer, bits)
    if isinstance(made, str):
        raise ValueError(f"quantized_optimizer: {made}")
    return made


def install(torch: ModuleType, desk: Desk, bits: int = 8) -> None:
    """Turns every Adam and AdamW into such a one at its first step, while it has no state yet."""
    looked_at: weakref.WeakSet[Any] = weakref.WeakSet()
    turned: weakref.WeakSet[Any] = weakref.WeakSet()

    def step(below: steps.Step, optimizer: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        if optimizer not in looked_at:
            looked_at.add(optimizer)
            kind = type(optimizer).__name__
            made = _replacement(torch, optimizer, bits)
            if isinstance(made, str):
                desk.refuse(made)
            else:
                _turn_into(optimizer, made)
                turned.add(optimizer)
                desk.applied(optimizer=kind, by=f"{type(made).__module__}.{type(made).__name__}", bits=bits)
        if optimizer not in turned:
            return below(optimizer, *args, **kwargs)
        with _rates_as_tensors(torch, optimizer):
            # A scheduler may still call the step of the class that was.
            return steps.own_step(optimizer)(optimizer, *args, **kwargs)

    steps.around_all_steps(torch, step)


def _replacement(torch: ModuleType, optimizer: Any, bits: int) -> Any:
    """The other optimizer; a sentence where there is none."""
    kind = type(optimizer)
    places = _PLACES.get((kind.__name__, bits)) if kind.__module__.startswith("torch.optim") else None
    if places is None:
        return f"{kind.__name__} is not known with state in {bits} bits."
    if any(optimizer.state.values()):
        return f"{kind.__name__} has state already, in full precision."
    unknown = _unknown_options(optimizer)
    if unknown:
        return f"{kind.__name__} was given {unknown}, which is not known with state in {bits} bits."
    for module, name in places:
        try:
            made = getattr(importlib.import_module(module), name)
        except (ImportError, AttributeError, OSError):
            continue
        groups = [{key: group[key] for key in ("params", *_SHARED) if key in group} for group in optimizer.param_groups]
        return made(groups, **{key: optimizer.defaults[key] for key in _SHARED if key in optimizer.defaults})
    packages = " or ".join(module.split(".")[0] for module, _ in places)
    return f"State in {bits} bits needs {packages}, and it is not installed."


def _unknown_options(optimizer: Any) -> str | None:
    for group in optimizer.param_groups:
        for name, value in group.items():
            if name not in (*_SHARED, *_IGNORED) and value:
                return f"{name}={value}"
    return None


def _turn_into(optimizer: Any, made: Any) -> None:
    """The script's own object becomes the other one: schedulers and loggers hold on to it, and to its groups."""
    for group, other in zip(optimizer.param_groups, made.param_groups):
        for name, value in other.items():
            group.setdefault(name, value)
    own = ("state", "param_groups", "step")
    for name, value in vars(made).items():
        if name not in own and not name.startswith("_optimizer_"):
            vars(optimizer)[name] = value
    optimizer.__class__ = type(made)


@contextmanager
def _rates_as_tensors(torch: ModuleType, optimizer: Any) -> Iterator[None]:
    """torchao wants learning rates as tensors; scripts and schedulers set plain numbers, and find them again."""
    plain = [(group, group["lr"]) for group in optimizer.param_groups if not torch.is_tensor(group["lr"])]
    wanted = type(optimizer).__module__.startswith("torchao")
    for group, rate in plain if wanted else ():
        group["lr"] = torch.tensor(float(rate), dtype=torch.float32)
    try:
        yield
    finally:
        for group, rate in plain:
            group["lr"] = rate
