"""The settings and the cap that the user wants for PyTorch's allocator, put in force before the first tensor."""

from __future__ import annotations

import os
from types import ModuleType

_VARIABLES = ("PYTORCH_CUDA_ALLOC_CONF", "PYTORCH_ALLOC_CONF")


class Allocator:
    """Applies settings without a trace in the environment that the script sees."""

    def __init__(self, conf: str, limit_bytes: int) -> None:
        self.conf = conf
        self.limit_bytes = limit_bytes
        self._before: dict[str, str | None] | None = None

    def before_torch(self) -> None:
        """The backend is chosen when torch is loaded, by a variable and nothing else."""
        if not self.conf.startswith("backend:"):
            return
        self._before = {name: os.environ.get(name) for name in _VARIABLES}
        theirs = next((value for value in self._before.values() if value), "")
        os.environ[_VARIABLES[0]] = f"{theirs},{self.conf}".lstrip(",")

    def after_torch(self) -> None:
        """Puts the variables back."""
        for name, value in (self._before or {}).items():
            if value is None:
                os.environ.pop(name, None)
            else:
                os.environ[name] = value

    def apply(self, torch: ModuleType) -> str | None:
        """Puts settings and cap in force; returns what could not be done."""
        if self.conf and not self.conf.startswith("backend:"):
            try:
                torch.cuda.memory._set_allocator_settings(self.conf)
            except (RuntimeError, ValueError, AttributeError) as problem:
                return f"PyTorch does not take the allocator settings {self.conf}: {problem}"
        if self.limit_bytes:
            for index in range(torch.cuda.device_count()):
                total_bytes = torch.cuda.get_device_properties(index).total_memory
                if self.limit_bytes < total_bytes:
                    torch.cuda.set_per_process_memory_fraction(self.limit_bytes / total_bytes, index)
        return None

    def limit_of(self, total_bytes: int) -> int:
        """The most that PyTorch may take of a card with so much memory; 0 where there is no cap of ours."""
        return self.limit_bytes if self.limit_bytes < total_bytes else 0
