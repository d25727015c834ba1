"""Fine-tuning by LoRA, through peft: small matrices beside the linear layers are trained, the model stays as it is."""

from __future__ import annotations

import functools
import importlib
import weakref
from collections.abc import Iterable
from types import ModuleType
from typing import Any

from . import models, optimized, sizes
from .desk import Desk


def lora(
    model: Any,
    rank: int = 16,
    alpha: float | None = None,
    targets: Iterable[str] | None = None,
    keep_trainable: Iterable[str] = (),
) -> list[str]:
    """Puts LoRA matrices beside linear layers of a model, in place, and freezes all else; returns the layers' paths.

    Call it before the optimizer is made. `targets` are paths of layers or ends of them (`["q_proj", "v_proj"]`);
    without them all linear layers of the repeated blocks are taken. `alpha` is twice the rank unless it is given.
    Parameters of modules whose path ends in one of `keep_trainable` (a new head, say) are trained in full. Needs peft.
    """
    made = _inject(model, rank, alpha, targets, keep_trainable)
    if isinstance(made, str):
        raise ValueError(f"lora: {made}")
    return made


def install(
    torch: ModuleType,
    desk: Desk,
    rank: int = 16,
    alpha: float | None = None,
    targets: Iterable[str] | None = None,
    keep_trainable: Iterable[str] = (),
) -> None:
    """Does it to every model for which an optimizer is made, which then gets what is left to train."""
    base, known = torch.optim.Optimizer, weakref.WeakSet[Any]()
    original = base.__init__

    @functools.wraps(original)
    def __init__(self: Any, params: Any, *args: Any, **kwargs: Any) -> None:
        groups = optimized.as_lists(params)
        for root in optimized.roots_of(optimized.tensors_of(groups), known):
            before = sizes.trainable_bytes(root)
            layers = {path: layer.weight for path, layer in root.named_modules() if hasattr(layer, "weight")}
            made = _inject(root, rank, alpha, targets, keep_trainable)
            known.update(root.modules())
            if isinstance(made, str):
                desk.refuse(f"{type(root).__name__} is trained in full: {made}")
                continue
            groups = _with_adapters(groups, root, {path: layers[path] for path in made})
            desk.applied(
                model=type(root).__name__,
                layers=len(made),
                rank=rank,
                trainable_bytes_before=before,
                trainable_bytes_after=sizes.trainable_bytes(root),
                model_bytes=sizes.model_bytes(root),
            )
        original(self, groups, *args, **kwargs)

    base.__init__ = __init__


def _inject(
    model: Any, rank: int, alpha: float | None, targets: Iterable[str] | None, keep_trainable: Iterable[str]
) -> list[str] | str:
    """The paths of the layers; a sentence where it cannot be done, and the model is as it was."""
    try:
        peft = importlib.import_module("peft")
    except ImportError:
        return "LoRA needs peft, and it is not installed."
    root, kept = models.unwrapped(model), tuple(keep_trainable)
    if any(hasattr(module, "lora_A") for module in root.modules()):
        return "it has LoRA matrices already."
    found = _layers(root, targets)
    if not found:
        return "no linear layers were found in repeated blocks." if targets is None else f"it has no layers {targets}."
    trained = [p for path, module in root.named_modules() if path.endswith(kept) and kept for p in module.parameters()]
    config = peft.LoraConfig(r=rank, lora_alpha=2 * rank if alpha is None else alpha, target_modules=found)
    peft.inject_adapter_in_model(config, root)
    for parameter in trained:
        parameter.requires_grad_(True)
    return found


def _layers(root: Any, targets: Iterable[str] | None) -> list[str]:
    linear = [path for path, module in root.named_modules() if _is_linear(module)]
    if targets is not None:
        ends = tuple(targets)
        return [path for path in linear if any(path == end or path.endswith(f".{end}") for end in ends)]
    blocks = tuple(f"{path}." for path in models.repeated_blocks(root))
    return [path for path in linear if path.startswith(blocks)] if blocks else []


def _is_linear(module: Any) -> bool:
    from torch import nn

    # transformers' Conv1D is a linear layer whose weight lies the other way round.
    return isinstance(module, nn.Linear) or (type(module).__name__ == "Conv1D" and hasattr(module, "nf"))


def _with_adapters(groups: list[Any], root: Any, layers: dict[str, Any]) -> list[Any]:
    """What is left to train; the matrices of a layer go where its weight was, with that group's learning rate."""
    adapters: dict[int, list[tuple[str, Any]]] = {}
    for path, weight in layers.items():
        found = root.get_submodule(path).named_parameters()
        adapters[id(weight)] = [(f"{path}.{name}", p) for name, p in found if p.requires_grad and p is not weight]

    def left(entries: list[Any]) -> list[Any]:
        result: list[Any] = []
        for entry in entries:
            parameter = entry[-1] if isinstance(entry, tuple) else entry
            if parameter.requires_grad:
                result.append(entry)
            result += [pair if isinstance(entry, tuple) else pair[1] for pair in adapters.get(id(parameter), ())]
        return result

    if groups and isinstance(groups[0], dict):
        return [{**group, "params": left(group["params"])} for group in groups]
    return left(groups)
