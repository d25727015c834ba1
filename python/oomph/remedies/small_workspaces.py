"""Products that are computed with a small workspace of cuBLAS, or with hardly any."""

from __future__ import annotations

import os
from types import ModuleType

from .desk import Desk

#: PyTorch reads it when it first gives cuBLAS a workspace, and so does whatever this process starts.
VARIABLE = "CUBLAS_WORKSPACE_CONFIG"


def small_workspaces(config: str = ":16:8") -> str:
    """Says how large the workspaces of cuBLAS are to be, unless the environment does; returns what holds.

    It has to be called before the first product on the card: PyTorch asks once.
    """
    return os.environ.setdefault(VARIABLE, config)


def install(torch: ModuleType, desk: Desk, config: str = ":16:8") -> None:
    """Does the same in a job that knows nothing of it."""
    holds = small_workspaces(config)
    if holds == config:
        desk.applied(config=config)
    else:
        desk.refuse(f"{VARIABLE} is {holds} already.")
