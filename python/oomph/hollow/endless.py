"""Notices loops that wait for a value which a hollow card will never give."""

from __future__ import annotations

import ast
import ctypes
import functools
import linecache
import sys
import threading
import time
from collections.abc import Callable, Iterator
from types import FrameType

#: Reads of one line between two looks at whether anything has changed.
READS_BETWEEN_LOOKS = 1000
#: Seconds of work after which a loop that reads nothing is looked at too.
WORK_SECONDS = 300
#: Seconds between two looks at the time.
PAUSE_SECONDS = 10


class Endless(BaseException):
    """The script would never end. Not an `Exception`: scripts that catch those must not swallow it."""


#: A `while` that runs: its file, its line, and the frame it runs in.
Loop = tuple[str, int, int]


class Watch:
    """Looks now and then at a line that keeps reading."""

    def __init__(
        self,
        progress: Callable[[], object],
        leave: Callable[[], None],
        turn: Callable[[FrameType, int], object] = lambda _frame, _line: None,
    ) -> None:
        self._progress = progress
        self._leave = leave
        #: Of the `while` at a line of a frame: what changes if it is begun anew, or counts its way to something.
        self._turn = turn
        #: By the line that was looked at: how far the job was then, and the loops that were running.
        self._looks: dict[object, tuple[object, dict[Loop, object]]] = {}
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

    def on_read(self, frame: FrameType, line: object, count: int) -> None:
        """A line has read for the `count`th time. Called from where nothing can be raised."""
        if count % READS_BETWEEN_LOOKS:
            return
        now = self._progress()
        if now is None:
            return
        running = {loop: self._turn(found, loop[1]) for found, loop in _running_loops(frame)}
        # One that was left since, or that gets on by what it counts, waits for nothing.
        seen, before = self._looks.get(line, (None, {}))
        is_waiting = any(loop in running and running[loop] == turn for loop, turn in before.items())
        if now == seen and is_waiting:
            self._place = _waiting_loop(frame)
        self._looks[line] = now, running

    def check(self) -> None:
        """Leaves a script that waits for ever."""
        if self._place is not None:
            self._leave()


def _running_loops(frame: FrameType | None) -> Iterator[tuple[FrameType, Loop]]:
    """The `while` loops that are running, the innermost first, and the frames they run in."""
    while frame is not None:
        path, line = frame.f_code.co_filename, frame.f_lineno
        for first, last in reversed(_whiles(path)):
            if first <= line <= last:
                yield frame, (path, first, id(frame))
        frame = frame.f_back


def _waiting_loop(frame: FrameType | None) -> str | None:
    """Where the innermost of them is now."""
    found = next(_running_loops(frame), None)
    return f"{found[1][0]}:{found[0].f_lineno}" if found is not None else None


@functools.cache
def _whiles(path: str) -> tuple[tuple[int, int], ...]:
    """The first and the last line of each `while` of a file."""
    if not path or path.startswith("<"):
        return ()
    try:
        tree = ast.parse("".join(linecache.getlines(path)))
    except (SyntaxError, ValueError):
        return ()
    loops = (node for node in ast.walk(tree) if isinstance(node, ast.While))
    return tuple(sorted((loop.lineno, loop.end_lineno or loop.lineno) for loop in loops))
