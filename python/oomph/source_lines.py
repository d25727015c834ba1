"""Which line of the user's own code is running."""

from __future__ import annotations

import os
from types import FrameType

_LIBRARY_PARTS = ("site-packages" + os.sep, "dist-packages" + os.sep)
_STANDARD_LIBRARY = os.path.dirname(os.__file__) + os.sep


def is_users(path: str) -> bool:
    """Whether a file is the user's own: no installed library's, not the standard library's, no generated code."""
    is_library = any(part in path for part in _LIBRARY_PARTS) or path.startswith(_STANDARD_LIBRARY)
    return not path.startswith("<") and not is_library


def place_of(frame: FrameType | None) -> tuple[str, int]:
    """The innermost line that is the user's own; no file and line 0 if none is."""
    while frame is not None:
        if is_users(frame.f_code.co_filename):
            return frame.f_code.co_filename, frame.f_lineno
        frame = frame.f_back
    return "", 0
