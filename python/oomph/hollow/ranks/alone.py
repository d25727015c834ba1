"""What a script is told that waits for a process which a plan does not run."""

from __future__ import annotations

import os
import sys
from types import FrameType

from ...source_lines import place_of

_TORCH_DISTRIBUTED = os.path.join("torch", "distributed", "")
_OWN_FOLDER = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))


class NobodyThere(BaseException):
    """The script waits for another process. Not an `Exception`: scripts that catch those must not try again."""


def place_of_caller() -> str:
    """The innermost line of the user's that is running, for people."""
    frame: FrameType | None = sys._getframe(1)
    while frame is not None and frame.f_code.co_filename.startswith(_OWN_FOLDER):
        frame = frame.f_back
    path, line = place_of(frame)
    return f"{os.path.basename(path)}:{line}" if path else "the script"


def is_called_by_torch(depth: int) -> bool:
    """Whether the function so many calls up was called by PyTorch: from C++ threads or `torch.distributed`."""
    try:
        path = sys._getframe(depth + 1).f_code.co_filename
    except ValueError:
        return True
    return _TORCH_DISTRIBUTED in path
