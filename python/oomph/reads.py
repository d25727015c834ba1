"""Where the script reads a value back from the card: a hollow card answers with zeros, so the plan must say so."""

from __future__ import annotations

import ctypes
import os
import sys
from collections import Counter
from types import FrameType, ModuleType

_LIBRARY_PARTS = ("site-packages" + os.sep, "dist-packages" + os.sep)


class Reads:
    """Counts device-to-host copies by the user's line."""

    def __init__(self) -> None:
        self.lines: Counter[tuple[str, int]] = Counter()
        self._callback: object = None

    def install(self, _torch: ModuleType) -> None:
        """Asks the hollow card to call back on every read."""
        try:
            register = ctypes.CDLL(None).oomph_hollow_on_read
        except AttributeError:
            return
        signature = ctypes.CFUNCTYPE(None)
        # The library keeps the pointer only: without this reference Python would free what it points to.
        self._callback = signature(self._on_read)
        register.argtypes = [signature]
        register.restype = None
        register(self._callback)

    def _on_read(self) -> None:
        frame: FrameType | None = sys._getframe(1)
        while frame is not None:
            name = frame.f_code.co_filename
            if not name.startswith("<") and not any(part in name for part in _LIBRARY_PARTS) and not _is_standard(name):
                self.lines[name, frame.f_lineno] += 1
                return
            frame = frame.f_back
        self.lines["", 0] += 1

    def listing(self) -> list[dict[str, object]]:
        """By line, the most frequent first."""
        return [{"file": file, "line": line, "count": count} for (file, line), count in self.lines.most_common()]


def _is_standard(name: str) -> bool:
    return name.startswith(os.path.dirname(os.__file__) + os.sep)
