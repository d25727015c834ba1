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
from collections import defaultdict, deque
from collections.abc import Callable, Iterable
from typing import Any

from ..source_lines import is_users

#: Bytes a step from which a rise is looked into after a few steps; a slower one is, once it is beyond any noise.
RATE_BYTES_MIN = 800_000
SLOW_RATE_BYTES_MIN = 20_000
SLOW_RISE_BYTES_MIN = 64 << 20
#: Readings that are taken at every step, from the first: a job may end after few steps.
READINGS_AT_ONCE = 64
#: Readings a second after that. One takes 8 us.
READINGS_PER_SECOND = 2.0
#: The readings that show a rise, by twos.
RECENT_READINGS = 8
#: Points that all readings are kept in; when they are used up, each two become one.
HISTORY_POINTS = 64
#: A steady rise differs from its mean by no more than this, from part to part.
UNEVENNESS_RECENT = 1.6
UNEVENNESS_LONG = 1.3

#: Frames that are kept of each allocation: enough to get out of a library to the line that called it.
FRAMES = 12
#: How often a window is looked at after its first step, and the most steps that it is open.
WINDOW_LOOKS = 4
WINDOW_STEPS_MAX = 64
#: A window should see so much growth.
WINDOW_BYTES = 2 << 20
#: A window is closed after so much time, or when what it knows takes so much memory.
WINDOW_SECONDS = 60.0
WINDOW_MEMORY_BYTES = 64 << 20
#: Windows that are opened at most.
WINDOWS_MAX = 4
#: The line that is named must add this part of the rise in every step, or so many bytes: a rise may be of several lines.
SHARE_MIN = 0.25
LINE_BYTES_MIN = 200_000
#: What a line adds differs from its mean by no more than this, from look to look.
UNEVENNESS_OF_LINE = 3.0
#: Growth that was told has ended where memory rose by less than a quarter of it, in so many steps at least.
ENDED_STEPS = 32

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
        if not is_apart or _floor(blocks[-1]) <= self._earlier_bytes_max:
            return 0.0
        rate = rate_of(blocks, UNEVENNESS_RECENT)
        return rate if rate >= RATE_BYTES_MIN else 0.0

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
        if len(history) < HISTORY_POINTS:
            return 0.0
        quarter = HISTORY_POINTS // 4
        blocks = [history[at : at + quarter] for at in range(0, HISTORY_POINTS, quarter)]
        is_above = _floor(blocks[3]) > max(_ceiling(blocks[0]), _ceiling(blocks[1]))
        is_much = _floor(blocks[3]) - _floor(blocks[0]) >= SLOW_RISE_BYTES_MIN
        rate = rate_of(blocks, UNEVENNESS_LONG) if is_above and is_much else 0.0
        return rate if rate >= SLOW_RATE_BYTES_MIN else 0.0


def _floor(readings: list[tuple[int, int]]) -> int:
    return min(held_bytes for _, held_bytes in readings)


def _ceiling(readings: list[tuple[int, int]]) -> int:
    return max(held_bytes for _, held_bytes in readings)


def rate_of(blocks: list[list[tuple[int, int]]], unevenness: float) -> float:
    """Bytes a step, where the floors of the blocks rise evenly; else 0."""
    floors = [_floor(block) for block in blocks]
    if not is_even([later - earlier for earlier, later in zip(floors, floors[1:])], unevenness):
        return 0.0
    steps = blocks[-1][0][0] - blocks[0][0][0]
    return (floors[-1] - floors[0]) / max(steps, 1)


def is_even(rises: list[int], unevenness: float) -> bool:
    """Whether all of them are rises, none much more or less than their mean."""
    mean = sum(rises) / max(len(rises), 1)
    return mean > 0 and min(rises) * unevenness >= mean and max(rises) <= mean * unevenness


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
        #: What was told, and the reading at which its window was opened.
        self._told: dict[str, Any] | None = None
        self._opened = (0, 0)
        #: After a window that found nothing, the heap must get this large before another is opened.
        self._again_bytes = 0
        self._is_over = False
        self._seeks_tensors = False

    @property
    def is_busy(self) -> bool:
        """Whether the very next step is to be looked at."""
        return self._window is not None or self._credit >= 1.0

    def on_step(self, step: int, cpu_tensor_bytes: int) -> None:
        """A step has ended, after which CPU tensors hold so many bytes; 0 where nobody counts them."""
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
        # Whoever counts tensors knows their lines too.
        self._seeks_tensors = cpu_tensor_bytes == 0
        self._on_reading(step, max(heap_bytes - cpu_tensor_bytes, 0))

    def _on_reading(self, step: int, held_bytes: int) -> None:
        if self._window is not None:
            self._look(self._window, step, held_bytes)
        elif self._told is not None:
            self._watch_end(step, held_bytes)
        else:
            rate = self._trend.add(step, held_bytes)
            if rate and held_bytes >= self._again_bytes:
                self._open(step, held_bytes, rate)

    def _open(self, step: int, held_bytes: int, rate: float) -> None:
        if tracemalloc.is_tracing() or self._windows == WINDOWS_MAX:
            # Somebody else uses it: its data are theirs.
            self._is_over = True
            return
        self._windows += 1
        self._opened = (step, held_bytes)
        self._window = Window(rate, self._seeks_tensors)

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
            self._again_bytes = held_bytes + held_bytes // 20
            return
        place, bytes_per_step = found
        self._told = {"file": place[0], "line": place[1], "bytes_per_step": bytes_per_step, "steps": window.steps}
        self._tell("host_growth", self._told)

    def _watch_end(self, step: int, held_bytes: int) -> None:
        """What was told is taken back when it stops: a cache is full, or the results of an epoch are given up.

        Memory that the window itself took hides a leak for some steps, so the end is counted from its beginning."""
        told, (opened_step, opened_bytes) = self._told, self._opened
        passed_steps = step - opened_step
        if told is None or passed_steps < ENDED_STEPS:
            return
        if held_bytes - opened_bytes < told["bytes_per_step"] * passed_steps / 4:
            self._told, self._again_bytes = None, held_bytes + held_bytes // 20
            self._tell("host_growth_ended", told)


class Window:
    """Some steps under `tracemalloc`, which is looked at a few times: which line holds more each time."""

    def __init__(self, rate: float, seeks_tensors: bool) -> None:
        self._seeks_tensors = seeks_tensors
        self._bytes_per_step_min = min(SHARE_MIN * rate, LINE_BYTES_MIN)
        self._opened = time.monotonic()
        steps = min(WINDOW_BYTES / rate, WINDOW_STEPS_MAX)
        self._steps_a_look = max(round(steps / WINDOW_LOOKS), 1)
        #: What each line held at each look. The first is at the end of the first step, which replaces what was allocated
        #: before anybody looked.
        self._looks: list[dict[Place, int]] = []
        self._tensors: list[dict[Place, int]] = []
        self._first_step, self._next_step = 0, 0
        self._wanted_by_script: int | None = None
        #: Steps from the first look to the last.
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
        is_late = time.monotonic() - self._opened > WINDOW_SECONDS
        if is_late or tracemalloc.get_tracemalloc_memory() > WINDOW_MEMORY_BYTES:
            self._close()
            return "closed"
        if step < self._next_step:
            return "open"
        self._first_step = self._first_step or step
        self._next_step = step + self._steps_a_look
        self.steps = step - self._first_step
        self._looks.append(held_by_line())
        self._look_for_tensors()
        if len(self._looks) <= WINDOW_LOOKS:
            return "open"
        self.found = self._line_found() or self._tensors_found()
        self._close()
        return "closed"

    def _look_for_tensors(self) -> None:
        """Where no line of Python's rises it may be tensors, of which Python allocates the handle alone.

        That takes a while to see, so it is looked for in the middle and at the end only."""
        is_time = len(self._looks) in (WINDOW_LOOKS // 2 + 1, WINDOW_LOOKS + 1)
        if self._seeks_tensors and is_time and self._line_found() is None:
            self._tensors.append(tensors_by_line())

    def _line_found(self) -> tuple[Place, int] | None:
        return rising_most(self._looks, self.steps, self._bytes_per_step_min)

    def _tensors_found(self) -> tuple[Place, int] | None:
        if len(self._tensors) < 2 or not self._tensors[1]:
            return None
        middle, end = self._tensors
        place = max(end, key=lambda place: end[place] - middle.get(place, 0))
        first_half, second_half = middle.get(place, 0), end[place] - middle.get(place, 0)
        # The first half has the first step too.
        bytes_per_step = end[place] // (self.steps + 1)
        is_rise = place[0] and is_even([first_half, second_half], UNEVENNESS_OF_LINE)
        return (place, bytes_per_step) if is_rise and bytes_per_step >= self._bytes_per_step_min else None

    def _on_start(self, nframe: int = 1) -> None:
        """The script calls `tracemalloc.start`."""
        self._wanted_by_script = nframe

    def _hand_over(self) -> None:
        self._close()
        if self._wanted_by_script is not None:
            self._start(self._wanted_by_script)

    def _close(self) -> None:
        self._looks, self._tensors = [], []
        if tracemalloc.start == self._on_start:
            tracemalloc.start = self._start
        tracemalloc.stop()


def rising_most(looks: list[dict[Place, int]], steps: int, bytes_per_step_min: float) -> tuple[Place, int] | None:
    """The line whose bytes rose most, and by how much a step, of those that rose from each look to the next."""
    best: tuple[Place, int] | None = None
    for place, held_bytes in looks[-1].items():
        bytes_per_step = (held_bytes - looks[0].get(place, 0)) // max(steps, 1)
        if not place[0] or bytes_per_step < (best[1] + 1 if best else bytes_per_step_min):
            continue
        series = [look.get(place, 0) for look in looks]
        if is_even([later - earlier for earlier, later in zip(series, series[1:])], UNEVENNESS_OF_LINE):
            best = (place, bytes_per_step)
    return best


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
    # As `take_snapshot` does, whose own grouping takes seconds. Nothing is allocated in the loop that need not be: each
    # allocation would be traced.
    held_by_traceback: defaultdict[Any, list[int]] = defaultdict(list)
    for trace in _get_traces():
        held_by_traceback[trace[2]].append(trace[1])
    held_by_place: dict[Place, int] = {}
    for frames, held_bytes in held_by_traceback.items():
        place = place_in(frames)
        held_by_place[place] = held_by_place.get(place, 0) + sum(held_bytes)
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
