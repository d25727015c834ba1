"""Where batches and checkpoints come from: loaders with workers, and files that are loaded whole.

None of this stands between the script and PyTorch: whatever is raised has the traceback that it has without us.
"""

from __future__ import annotations

import functools
import os
import sys
from collections.abc import Callable
from types import FrameType, ModuleType
from typing import Any

from ..source_lines import place_of
from .host import HostGrowth

#: A file below this size is not worth a word.
LOAD_BYTES_MIN = 64 << 20
#: How checkpoints are called.
CHECKPOINTS = (".pt", ".pth", ".bin", ".ckpt", ".safetensors")
#: How far above the fork a loader is that starts its workers.
_FRAMES_MAX = 16
#: Which argument of the loop in a worker is the queue that it puts its batches into.
_DATA_QUEUE = 3


class Loaders:
    """Tells of loaders that start workers, of checkpoints that are opened, and of growth inside workers."""

    def __init__(self, tell: Callable[[str, Any], None], begin_worker: Callable[[], None]) -> None:
        self._tell = tell
        #: Called in a worker before its first fact: only workers that grow have anything to tell.
        self._begin_worker = begin_worker
        self._told: set[tuple[str, int]] = set()
        self._code: object = None

    def install(self, torch: ModuleType) -> None:
        """Waits for loaders to start workers."""
        iterator = torch.utils.data.dataloader._MultiProcessingDataLoaderIter
        self._code = iterator.__init__.__code__
        os.register_at_fork(before=self._before_fork)
        self._watch_workers(torch.utils.data._utils.worker)

    def _before_fork(self) -> None:
        """Some process is forked; if a loader does it, its frame is above."""
        frame: FrameType | None = sys._getframe(1)
        for _ in range(_FRAMES_MAX):
            if frame is None:
                return
            if frame.f_code is self._code:
                self._on_loader(frame.f_locals.get("loader"), frame)
                return
            frame = frame.f_back

    def _on_loader(self, loader: Any, frame: FrameType) -> None:
        file, line = place_of(frame)
        if loader is None or (file, line) in self._told:
            return
        self._told.add((file, line))
        facts = {
            "file": file or None,
            "line": line or None,
            "workers": loader.num_workers,
            "prefetch_factor": loader.prefetch_factor or 1,
            "batch_bytes": None,
            "pin_memory": bool(loader.pin_memory),
        }
        self._tell("loader", facts)

    def _watch_workers(self, worker: Any) -> None:
        original = worker._worker_loop

        # Its frame is below the one in which a worker catches what a data set raises, so no traceback shows it.
        @functools.wraps(original)
        def _worker_loop(*args: Any, **kwargs: Any) -> Any:
            if len(args) > _DATA_QUEUE:
                self._count_batches(args[_DATA_QUEUE])
            return original(*args, **kwargs)

        worker._worker_loop = _worker_loop

    def _count_batches(self, queue: Any) -> None:
        """In a worker: every batch that is handed over is a step."""
        growth = HostGrowth(self._tell_from_worker)
        put, batches = queue.put, 0

        def counting_put(message: Any, *args: Any, **kwargs: Any) -> None:
            nonlocal batches
            # Between epochs a worker says that it is ready, which is no batch.
            if isinstance(message, tuple) and message[-1] is not None:
                batches += 1
                growth.on_step(batches, 0)
            put(message, *args, **kwargs)

        queue.put = counting_put

    def _tell_from_worker(self, kind: str, facts: Any) -> None:
        self._begin_worker()
        self._tell(kind, facts)

    def on_event(self, event: str, arguments: tuple[Any, ...]) -> None:
        """An audit event: of those of files, checkpoints are told."""
        if event != "open" or not isinstance(arguments[0], str) or not arguments[0].endswith(CHECKPOINTS):
            return
        try:
            held_bytes = os.path.getsize(arguments[0])
        except OSError:
            return
        mode = arguments[1]
        file, line = place_of(sys._getframe(1))
        if held_bytes < LOAD_BYTES_MIN or not isinstance(mode, str) or "r" not in mode or (file, line) in self._told:
            return
        self._told.add((file, line))
        self._tell("load", {"file": file or None, "line": line or None, "bytes": held_bytes})
