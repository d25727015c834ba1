"""Notices loops that wait for a value which a hollow card will never give."""

from __future__ import annotations

import ast
import ctypes
import linecache
import sys
import threading
import time
from collections.abc import Callable
from types import FrameType

#: Reads of one line between two looks at whether anything has changed.
READS_BETWEEN_LOOKS = 1000
#: Seconds of work after which a loop that reads nothing is looked at too.
WORK_SECONDS = 300
#: Seconds between two looks at the time.
PAUSE_SECONDS = 10


class Endless(BaseException):
    """The script would never end. Not an `Exception`: scripts that catch those must not swallow it."""


class Watch:
    """Looks now and then at a line that keeps reading."""

    def __init__(self, progress: Callable[[], object], leave: Callable[[], None]) -> None:
        self._progress = progress
        self._leave = leave
        self._seen: object = None
        self._place: str | None = None

    def install(self) -> None:
        """Looks at the time beside the script."""
        thread = threading.Thread(target=self._look_at_times, args=(threading.get_ident(),), daemon=True)
        thread.start()

    def _look_at_times(self, script: int) -> None:
        seen: object = None
        while True:
            # Between two looks nothing is made that would move Python's collector, and with it the script's frees.
            since = time.process_time()
            while time.process_time() - since < WORK_SECONDS:
                time.sleep(PAUSE_SECONDS)
            now, place = self._progress(), _waiting_loop(sys._current_frames().get(script))
            if now is not None and now == seen and place is not None:
                self._place = place
                ctypes.pythonapi.PyThreadState_SetAsyncExc(ctypes.c_ulong(script), ctypes.py_object(Endless))
                return
            seen = now

    def message(self) -> str:
        """Where the script waits."""
        return f"{self._place} loops, waiting for what a hollow card never gives"

    def on_read(self, frame: FrameType, count: int) -> None:
        """A line has read for the `count`th time. Called from where nothing can be raised."""
        if count % READS_BETWEEN_LOOKS:
            return
        seen, self._seen = self._seen, self._progress()
        if self._seen is not None and seen == self._seen:
            self._place = _waiting_loop(frame)

    def check(self) -> None:
        """Leaves a script that waits for ever."""
        if self._place is not None:
            self._leave()


def _waiting_loop(frame: FrameType | None) -> str | None:
    """The innermost `while` loop that is running."""
    while frame is not None:
        path, line = frame.f_code.co_filename, frame.f_lineno
        if path and not path.startswith("<") and _is_in_while(path, line):
            return f"{path}:{line}"
        frame = frame.f_back
    return None


def _is_in_while(path: str, line: int) -> bool:
    try:
        tree = ast.parse("".join(linecache.getlines(path)))
    except (SyntaxError, ValueError):
        return False
    loops = (node for node in ast.walk(tree) if isinstance(node, ast.While))
    return any(loop.lineno <= line <= (loop.end_lineno or loop.lineno) for loop in loops)
