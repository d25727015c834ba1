"""PyTorch's own memory history, where the allocator cannot be heard otherwise: it costs more, and dies with the process."""

from __future__ import annotations

import os
import pickle
from types import ModuleType

from ..watching import snapshots

#: Entries of history kept by PyTorch: some 100 MB of host memory.
MAX_ENTRIES = 200_000


class History:
    """Written beside the box when the process ends or runs out of memory."""

    def __init__(self, folder: str) -> None:
        self.folder = folder
        self._is_on = False

    def start(self, torch: ModuleType, problem: str) -> str:
        """Starts it; returns the sentence for the user."""
        try:
            torch.cuda.memory._record_memory_history(context="alloc", stacks="python", max_entries=MAX_ENTRIES)
        except RuntimeError as refused:
            told = str(refused).splitlines()[0]
            return f"allocations are not recorded, PyTorch's totals alone: {problem}; its own history: {told}"
        self._is_on = True
        return f"allocations are recorded by PyTorch's own history, which is slower and lost if the process is killed: {problem}"

    def save(self, torch: ModuleType) -> None:
        """Writes it, if it is on."""
        if self._is_on and self.folder:
            path = os.path.join(self.folder, f"{os.getpid()}.pickle")
            with open(path + ".part", "wb") as file:
                pickle.dump(snapshots.take(torch), file, protocol=4)
            os.replace(path + ".part", path)
