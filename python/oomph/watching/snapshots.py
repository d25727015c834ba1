"""PyTorch's own picture of its allocator."""

from __future__ import annotations

import sys
from collections.abc import Callable
from types import ModuleType
from typing import Any

_COMPILER = "_inductor"


def take(torch: ModuleType) -> Any:
    """All segments and settings, with the history if one is kept."""
    return _without_compiler(torch, torch.cuda.memory._snapshot)


def segments(torch: ModuleType) -> Any:
    """What lies where, without the history."""
    snapshot = torch.cuda.memory_snapshot
    # Not every version of PyTorch has this argument.
    options = {"include_traces": False} if "include_traces" in snapshot.__code__.co_varnames else {}
    return _without_compiler(torch, lambda: snapshot(**options))


def _without_compiler(torch: ModuleType, snapshot: Callable[[], Any]) -> Any:
    """PyTorch asks its compiler for the lines of compiled code, and imports it for that, which takes longer than all else
    that a short plan does. Where nothing has imported it there is no compiled code; an empty module says so.
    """
    if f"torch.{_COMPILER}" in sys.modules or _COMPILER in vars(torch):
        return snapshot()
    empty = ModuleType(f"torch.{_COMPILER}")
    setattr(torch, _COMPILER, empty)
    try:
        return snapshot()
    finally:
        # Gone again, so that whoever asks for the compiler gets it.
        if vars(torch).get(_COMPILER) is empty:
            delattr(torch, _COMPILER)
