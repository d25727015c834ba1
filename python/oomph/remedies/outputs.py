"""What a model returns, in float32 again."""

from __future__ import annotations

import copy
import dataclasses
from collections.abc import Mapping
from types import ModuleType
from typing import Any


def in_float32(torch: ModuleType, value: Any, depth: int = 4) -> Any:
    """The same value with its half-precision tensors in float32, whatever lists, dictionaries and classes hold them."""
    if isinstance(value, torch.Tensor):
        return value.float() if value.dtype in (torch.bfloat16, torch.float16) else value
    if not depth:
        return value
    if isinstance(value, tuple):
        parts = [in_float32(torch, part, depth - 1) for part in value]
        return type(value)(*parts) if hasattr(value, "_fields") else type(value)(parts)
    if isinstance(value, list):
        return [in_float32(torch, part, depth - 1) for part in value]
    if isinstance(value, Mapping):
        # The outputs of transformers are both dictionaries and dataclasses; as dictionaries they keep both in step.
        result = copy.copy(value)
        for key in list(value):
            result[key] = in_float32(torch, value[key], depth - 1)  # type: ignore[index]
        return result
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        changes = {f.name: in_float32(torch, getattr(value, f.name), depth - 1) for f in dataclasses.fields(value)}
        result = copy.copy(value)
        for name, part in changes.items():
            object.__setattr__(result, name, part)
        return result
    return value
