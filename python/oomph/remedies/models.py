"""What a model is made of, as far as remedies care."""

from __future__ import annotations

from typing import Any


def unwrapped(model: Any) -> Any:
    """The user's own module inside what torch, DDP or a library has put around it."""
    while True:
        inner = getattr(model, "_orig_mod", None)
        if inner is None and type(model).__name__ in ("DistributedDataParallel", "DataParallel"):
            inner = getattr(model, "module", None)
        if inner is None:
            return model
        model = inner


def repeated_blocks(model: Any) -> dict[str, Any]:
    """The outermost modules that come several times in a row, by path: a transformer's layers, a ResNet's stages."""
    from torch import nn

    found: dict[str, Any] = {}
    for path, module in model.named_modules():
        if any(path.startswith(f"{outer}.") for outer in found) or not isinstance(module, (nn.ModuleList, nn.Sequential)):
            continue
        kinds = [type(child) for child in module.children()]
        for name, child in module.named_children():
            has_parts = any(True for _ in child.children()) and any(True for _ in child.parameters())
            if has_parts and kinds.count(type(child)) > 1:
                found[f"{path}.{name}" if path else name] = child
    return found
