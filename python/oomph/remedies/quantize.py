"""Linear layers with weights in 8 or 4 bits, for inference, through torchao."""

from __future__ import annotations

import functools
import importlib
import weakref
from types import ModuleType
from typing import Any

from . import models, sizes
from .desk import Desk

BITS = (8, 4)


def quantize(model: Any, bits: int = 8) -> int:
    """Turns the weights of a model's linear layers into 8 or 4 bits, in place; returns the bytes that saves.

    For inference: such weights cannot be trained. Call it while the model is on the host, and it never is on the card
    in full. Needs torchao; 4 bits need weights in bfloat16 and what torchao itself asks for.
    """
    made = _turn(model, bits)
    if isinstance(made, str):
        raise ValueError(f"quantize: {made}")
    return made


def install(torch: ModuleType, desk: Desk, bits: int = 8) -> None:
    """Does it to every model in evaluation mode: when it is moved to a card, or right before its first call."""
    if bits not in BITS:
        raise ValueError(f"bits must be one of {BITS}, not {bits!r}")
    known: weakref.WeakSet[Any] = weakref.WeakSet()

    def turn(model: Any) -> None:
        root = models.unwrapped(model)
        before, made = sizes.model_bytes(root), _turn(root, bits)
        if isinstance(made, str):
            desk.refuse(f"{type(root).__name__} stays as it is: {made}")
        else:
            desk.applied(
                model=type(root).__name__, bits=bits, bytes_before=before, bytes_after=before - made, saved_bytes=made
            )

    def before_call(module: Any, _args: Any) -> None:
        if module in known or torch.compiler.is_compiling():
            return
        known.update(module.modules())
        if module.training and torch.is_grad_enabled():
            desk.refuse(f"{type(module).__name__} stays as it is: it is trained, and weights in {bits} bits cannot be.")
        else:
            turn(module)

    torch.nn.modules.module.register_module_forward_pre_hook(before_call)
    for name in ("to", "cuda"):
        _before_moving(torch, name, known, turn)


def _before_moving(torch: ModuleType, name: str, known: weakref.WeakSet[Any], turn: Any) -> None:
    kind = torch.nn.Module
    original = getattr(kind, name)

    @functools.wraps(original)
    def move(self: Any, *args: Any, **kwargs: Any) -> Any:
        is_to_card = name == "cuda" or any("cuda" in str(value) for value in (*args, *kwargs.values()))
        is_on_host = all(parameter.device.type == "cpu" for parameter in self.parameters())
        if is_to_card and is_on_host and not self.training and self not in known:
            known.update(self.modules())
            turn(self)
        return original(self, *args, **kwargs)

    setattr(kind, name, move)


def _turn(model: Any, bits: int) -> int | str:
    """The bytes saved; a sentence where it cannot be done."""
    if bits not in BITS:
        raise ValueError(f"bits must be one of {BITS}, not {bits!r}")
    try:
        quantization = importlib.import_module("torchao.quantization")
    except ImportError:
        return f"weights in {bits} bits need torchao, and it is not installed."
    config = quantization.Int8WeightOnlyConfig if bits == 8 else quantization.Int4WeightOnlyConfig
    before = sizes.model_bytes(model)
    try:
        quantization.quantize_(model, config())
    except Exception as problem:  # what torchao lacks for this card or these weights, in its own words
        return f"torchao says: {str(problem).strip() or type(problem).__name__}"
    saved_bytes = before - sizes.model_bytes(model)
    return saved_bytes if saved_bytes > 0 else "it has no linear layers that torchao would turn."
