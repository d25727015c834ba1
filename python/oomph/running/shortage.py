"""What is said when memory runs out on a card: PyTorch's own text, with the first sentence of the verdict below it."""

from __future__ import annotations

import os
from collections.abc import Callable
from types import ModuleType
from typing import Any

from .box import Box

#: Errors that are explained. A script that catches them and tries again must not wait for us every time.
EXPLAINED = 3
#: How long a failing script waits for the verdict.
PATIENCE_SECONDS = 0.9


class Shortage:
    """Stands where out-of-memory errors come to be."""

    def __init__(self, box: Box, supervisor: int, look_closely: Callable[[ModuleType], None]) -> None:
        self.box = box
        self.supervisor = supervisor
        self.look_closely = look_closely
        #: Out-of-memory errors that reached Python.
        self.raised = 0

    def install(self, torch: ModuleType) -> None:
        """Changes the text of the errors to come."""

        def __init__(problem: Any, *args: Any) -> None:
            self.raised += 1
            if args and isinstance(args[0], str) and self.raised <= EXPLAINED:
                args = (self._explained(torch, args[0]), *args[1:])
            RuntimeError.__init__(problem, *args)

        torch.OutOfMemoryError.__init__ = __init__

    def _explained(self, torch: ModuleType, text: str) -> str:
        if self.box.owner != os.getpid() or not self.box.recording:
            return text
        try:
            # Nobody answers where `oomph` is gone.
            os.kill(self.supervisor, 0)
            self.look_closely(torch)
            sentence = self.box.ask({"kind": "oom", "number": self.raised}, PATIENCE_SECONDS)
        except Exception:
            # The error itself is what the script must get.
            return text
        return f"{text}\noomph: {sentence}" if sentence else text
