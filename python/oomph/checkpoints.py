"""Keeps a hollow run from writing its zeros over somebody's weights."""

from __future__ import annotations

import functools
from collections.abc import Callable
from types import ModuleType
from typing import Any


def guard_torch(torch: ModuleType, note: Callable[[str], None]) -> None:
    """`torch.save` to a file does nothing."""
    original = torch.save

    @functools.wraps(original)
    def save(obj: Any, f: Any, *args: Any, **kwargs: Any) -> Any:
        if hasattr(f, "getbuffer"):
            return original(obj, f, *args, **kwargs)
        note("torch.save wrote nothing: a plan has no values to save")
        return None

    torch.save = save
    torch.serialization.save = save


def guard_safetensors(module: ModuleType, note: Callable[[str], None]) -> None:
    """`safetensors.torch.save_file` does nothing."""
    original = module.save_file

    @functools.wraps(original)
    def save_file(*_args: Any, **_kwargs: Any) -> None:
        note("safetensors wrote nothing: a plan has no values to save")

    module.save_file = save_file
