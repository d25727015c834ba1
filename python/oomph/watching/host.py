"""Which line of Python keeps host memory from step to step.

Resident memory is read now and then, which costs next to nothing. Only where it rises steadily although tensors do not
explain it does `tracemalloc` run, for a few steps: it slows Python down, so a healthy job never gets to know it.
"""

from __future__ import annotations

import ctypes
import gc
import os
import sys
import time
import tracemalloc
from _tracemalloc import _get_object_traceback, _get_traces
from collections import deque
from collections.abc import Callable, Iterable
from typing import Any

from ..source_lines import is_users

#: Bytes a step below which nobody runs out of memory soon.
RATE_BYTES_MIN = 400_000
#: Readings that are taken at every step, from the first: a job may end after few steps.
READINGS_AT_ONCE = 64
#: Readings a second after that. One takes 8 us.
READINGS_PER_SECOND = 2.0
#: The readings that show a rise, by twos.
RECENT_READINGS = 8
#: Points that all readings are kept in; when they are used up, each two become one.
HISTORY_POINTS = 64
#: Rises that differ by more than this from one another are none of one kind.
EVENNESS = 2.0

#: Frames that are kept of each allocation: enough to get out of a library to the line that called it.
FRAMES = 24
#: Steps after which a window is first looked at, and the most that it is open.
WINDOW_STEPS = 4
WINDOW_STEPS_MAX = 64
#: A window should see so much growth.
WINDOW_BYTES = 2 << 20
#: A window is closed after so much time, or when what it knows takes so much memory.
WINDOW_SECONDS = 60.0
WINDOW_MEMORY_BYTES = 256 << 20
#: Windows that are opened at most.
WINDOWS_MAX = 4
#: The line that is named must explain this part of the rise.
SHARE_MIN = 0.25
#: After growth was told, so many readings without a new peak mean that it has ended.
ENDED_READINGS = 8

_PAGE_BYTES = os.sysconf("SC_PAGE_SIZE")
_OWN_FOLDER = os.path.dirname(os.path.dirname(os.path.abspath(__file__))) + os.sep

Place = tuple[str, int]


class Trend:
    """Whether memory rises steadily from step to step. Knows nothing but the readings it is given."""

    def __init__(self) -> None:
        self._recent: deque[tuple[int, int]] = deque(maxlen=RECENT_READINGS)
        #: The most that was ever read before the recent readings.
        self._earlier_bytes_max = 0
        self._history: list[tuple[int, int]] = []
        self._stride = 1
        self._count = 0

    def add(self, step: int, held_bytes: int) -> float:
        """Takes a reading; returns bytes a step where they rise steadily, else 0."""
        if len(self._recent) == RECENT_READINGS:
            self._earlier_bytes_max = max(self._earlier_bytes_max, self._recent[0][1])
        self._recent.append((step, held_bytes))
        return self._recent_rate() or self._long_rate(step, held_bytes)

    def _recent_rate(self) -> float:
        """A rise that is plain at once: every two readings lie above the two before, by about as much."""
        if len(self._recent) < RECENT_READINGS:
            return 0.0
        readings = list(self._recent)
        blocks = [readings[at : at + 2] for at in range(0, RECENT_READINGS, 2)]
        is_apart = all(_floor(later) >= _ceiling(earlier) for earlier, later in zip(blocks, blocks[1:]))
        return rate_of(blocks) if is_apart and _floor(blocks[-1]) > self._earlier_bytes_max else 0.0

    def _long_rate(self, step: int, held_bytes: int) -> float:
        """A rise among ragged readings: what is always held at the end lies above all that was held in the first half."""
        history = self._history
        if self._count % self._stride and history:
            history[-1] = min(history[-1], (step, held_bytes), key=lambda reading: reading[1])
            self._count += 1
            return 0.0
        if len(history) == HISTORY_POINTS:
            pairs = zip(history[::2], history[1::2])
            self._history = history = [min(pair, key=lambda reading: reading[1]) for pair in pairs]
            self._stride *= 2
        history.append((step, held_bytes))
        self._count += 1
        if len(history) < HISTORY_POINTS // 2 or len(history) % 8:
            return 0.0
        quarter = len(history) // 4
        blocks = [history[at : at + quarter] for at in range(0, 4 * quarter, quarter)]
        is_above = _floor(blocks[3]) > max(_ceiling(blocks[0]), _ceiling(blocks[1]))
        return rate_of(blocks) if is_above else 0.0


def _floor(readings: list[tuple[int, int]]) -> int:
    return min(held_bytes for _, held_bytes in readings)


def _ceiling(readings: list[tuple[int, int]]) -> int:
    return max(held_bytes for _, held_bytes in readings)


def rate_of(blocks: list[list[tuple[int, int]]]) -> float:
    """Bytes a step, where the floors of the blocks rise evenly; else 0."""
    floors = [_floor(block) for block in blocks]
    rises = [later - earlier for earlier, later in zip(floors, floors[1:])]
    mean = sum(rises) / len(rises)
    if min(rises) * EVENNESS < mean or max(rises) > mean * EVENNESS:
        return 0.0
    steps = blocks[-1][0][0] - blocks[0][0][0]
    rate = (floors[-1] - floors[0]) / max(steps, 1)
    return rate if rate >= RATE_BYTES_MIN else 0.0


class HostGrowth:
    """Watches the heap of this process from step to step, and names the line that keeps it growing."""

    def __init__(self, tell: Callable[[str, Any], None]) -> None:
        self._tell = tell
        self._owner = 0
        self._restart()

    def _restart(self) -> None:
        """This is another process now, which has not grown yet."""
        self._owner = os.getpid()
        self._trend = Trend()
        self._window: Window | None = None
        self._windows = 0
        self._credit, self._read_at = float(READINGS_AT_ONCE), time.monotonic()
        #: What was told, with the most that was read since and the readings since then.
        self._told: dict[str, Any] | None = None
        self._peak_bytes, self._readings_since = 0, 0
        #: After a window that found nothing, the heap must get this large before another is opened.
        self._again_bytes = 0
        self._is_over = False

    def on_step(self, step: int, cpu_tensor_bytes: int) -> None:
        """A step has ended, after which CPU tensors hold so many bytes."""
        if self._window is None:
            # Time is money, and so is asking for it: while there is credit, the clock is not read.
            if self._credit < 1.0:
                now = time.monotonic()
                self._credit = min((now - self._read_at) * READINGS_PER_SECOND, READINGS_PER_SECOND)
                if self._credit < 1.0:
                    return
                self._read_at = now
            self._credit -= 1.0
        if os.getpid() != self._owner:
            self._restart()
        if self._is_over:
            return
        heap_bytes = heap_bytes_now()
        if heap_bytes is None:
            self._is_over = True
            return
        self._on_reading(step, max(heap_bytes - cpu_tensor_bytes, 0))

    def _on_reading(self, step: int, held_bytes: int) -> None:
        if self._window is not None:
            self._look(self._window, step, held_bytes)
        elif self._told is not None:
            self._watch_end(held_bytes)
        else:
            rate = self._trend.add(step, held_bytes)
            if rate and held_bytes >= self._again_bytes:
                self._open(rate)

    def _open(self, rate: float) -> None:
        if tracemalloc.is_tracing() or self._windows == WINDOWS_MAX:
            # Somebody else uses it: its data are theirs.
            self._is_over = True
            return
        self._windows += 1
        self._window = Window(rate)

    def _look(self, window: Window, step: int, held_bytes: int) -> None:
        state = window.look(step)
        if state == "open":
            return
        self._window, self._trend = None, Trend()
        if state == "taken":
            self._is_over = True
            return
        found = window.found
        if found is None:
            self._again_bytes = held_bytes + held_bytes // 2
            return
        place, bytes_per_step = found
        self._told = {"file": place[0], "line": place[1], "bytes_per_step": bytes_per_step, "steps": window.steps}
        self._peak_bytes, self._readings_since = held_bytes, 0
        self._tell("host_growth", self._told)

    def _watch_end(self, held_bytes: int) -> None:
        """What was told is taken back when it stops: a cache is full, or an epoch's results are given up."""
        self._readings_since += 1
        if held_bytes >= self._peak_bytes + RATE_BYTES_MIN:
            self._peak_bytes, self._readings_since = held_bytes, 0
        if self._readings_since < ENDED_READINGS:
            return
        told, self._told = self._told, None
        self._again_bytes = self._peak_bytes + RATE_BYTES_MIN
        self._tell("host_growth_ended", told)


class Window:
    """A few steps under `tracemalloc`: what the later of them added, and where."""

    def __init__(self, rate: float) -> None:
        self._rate = rate
        self._opened = time.monotonic()
        self._wanted_steps = min(max(WINDOW_STEPS, int(WINDOW_BYTES / rate)), WINDOW_STEPS_MAX)
        self._base: dict[Place, int] | None = None
        self._base_step = 0
        self._wanted_by_script: int | None = None
        #: Steps that were looked at.
        self.steps = 0
        #: The line, and bytes a step.
        self.found: tuple[Place, int] | None = None
        self._start = tracemalloc.start
        tracemalloc.start = self._on_start
        self._start(FRAMES)

    def look(self, step: int) -> str:
        """A step has ended. Returns `open`; `closed`; or `taken`, where the script wants `tracemalloc` for itself."""
        if self._wanted_by_script is not None or not tracemalloc.is_tracing():
            self._hand_over()
            return "taken"
        if self._base is None:
            # The first step is left out: it replaces what was allocated before anybody looked.
            self._base, self._base_step = held_by_line(), step
            return "open"
        is_late = time.monotonic() - self._opened > WINDOW_SECONDS
        is_large = tracemalloc.get_tracemalloc_memory() > WINDOW_MEMORY_BYTES
        self.steps = step - self._base_step
        if self.steps < self._wanted_steps and not is_late and not is_large:
            return "open"
        self._find(self._base)
        self._close()
        return "closed"

    def _find(self, base: dict[Place, int]) -> None:
        grown = {place: held - base.get(place, 0) for place, held in held_by_line().items()}
        self.found = self._heaviest(grown, self.steps)
        if self.found is None:
            # Not Python's own memory, then: tensors, of which Python allocates the handle alone. Those of the first
            # step are among them.
            self.found = self._heaviest(tensors_by_line(), self.steps + 1)

    def _heaviest(self, grown: dict[Place, int], steps: int) -> tuple[Place, int] | None:
        place, grown_bytes = max(grown.items(), key=lambda item: item[1], default=(("", 0), 0))
        if not place[0] or steps <= 0 or grown_bytes < SHARE_MIN * self._rate * steps:
            return None
        return place, grown_bytes // steps

    def _on_start(self, nframe: int = 1) -> None:
        """The script calls `tracemalloc.start`."""
        self._wanted_by_script = nframe

    def _hand_over(self) -> None:
        self._close()
        if self._wanted_by_script is not None:
            self._start(self._wanted_by_script)

    def _close(self) -> None:
        self._base = None
        if tracemalloc.start == self._on_start:
            tracemalloc.start = self._start
        tracemalloc.stop()


def heap_bytes_now() -> int | None:
    """Resident bytes of this process without files and shared memory; None where the system does not say."""
    try:
        # Not kept open: a script may close every file it did not open itself.
        file = os.open("/proc/self/statm", os.O_RDONLY | os.O_CLOEXEC)
        try:
            fields = os.read(file, 128).split()
        finally:
            os.close(file)
        return (int(fields[1]) - int(fields[2])) * _PAGE_BYTES
    except (OSError, ValueError, IndexError):
        return None


def held_by_line() -> dict[Place, int]:
    """What was allocated since `tracemalloc` was started and is still held, by the user's line."""
    # As `take_snapshot` does, which then takes seconds to group it. A traceback is one tuple, whoever has it.
    held_by_traceback: dict[int, list[Any]] = {}
    for _domain, held_bytes, frames, *_ in _get_traces():
        held = held_by_traceback.get(id(frames))
        if held is None:
            held_by_traceback[id(frames)] = [frames, held_bytes]
        else:
            held[1] += held_bytes
    held_by_place: dict[Place, int] = {}
    for frames, held_bytes in held_by_traceback.values():
        place = place_in(frames)
        held_by_place[place] = held_by_place.get(place, 0) + held_bytes
    return held_by_place


def tensors_by_line() -> dict[Place, int]:
    """Bytes of CPU tensors that were made since `tracemalloc` was started and are still there, by the user's line."""
    torch: Any = sys.modules.get("torch")
    if torch is None:
        return {}
    held: dict[Place, int] = {}
    storages: set[int] = set()
    is_tensor: dict[type, bool] = {}
    for thing in gc.get_objects():
        kind = type(thing)
        if kind not in is_tensor:
            is_tensor[kind] = issubclass(kind, torch.Tensor)
        if not is_tensor[kind]:
            continue
        try:
            frames = made_at(thing) if thing.device.type == "cpu" else None
            storage = thing.untyped_storage()
            if frames is not None and storage.data_ptr() not in storages:
                storages.add(storage.data_ptr())
                place = place_in(frames)
                held[place] = held.get(place, 0) + storage.nbytes()
        except (AttributeError, RuntimeError, NotImplementedError, ReferenceError):
            # Half-built or half-dead tensors of the script, and kinds without a storage.
            continue
    return held


def made_at(thing: object) -> Any:
    """The frames that an object was made in, innermost first; None where nobody looked."""
    frames = _get_object_traceback(thing)
    if frames is None and sys.version_info[:2] == (3, 11):
        # 3.11 forgets the dict in front of the object, and looks 16 bytes too far on.
        find = ctypes.pythonapi._PyTraceMalloc_GetTraceback
        find.restype, find.argtypes = ctypes.py_object, [ctypes.c_uint, ctypes.c_size_t]
        frames = find(0, id(thing) - 32)
    return frames


def place_in(frames: Iterable[Place]) -> Place:
    """The innermost line of the user's own; else the innermost that is not ours; else none."""
    innermost: Place = ("", 0)
    for file, line in frames:
        if file.startswith(_OWN_FOLDER):
            continue
        if is_users(file):
            return file, line
        if not innermost[0] and not file.startswith("<"):
            innermost = (file, line)
    return innermost
