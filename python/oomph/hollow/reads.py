"""Where the script reads a value back from the card that nobody can know, and what the plan took it for."""

from __future__ import annotations

import contextlib
import ctypes
import os
import sys
import threading
from collections import Counter
from collections.abc import Callable, Iterator
from types import FrameType, ModuleType

from ..source_lines import place_of
from ..values.steering import Steering, is_shown

#: What an unknown value was taken for: zeros; every element of a mask as picked; as many as in the step before; some
#: true and some false; no NaN and no infinity; what a script makes sure of; other draws than the card's.
ZEROS, ALL, EARLIER, SOME, FINITE, HELD, DRAWN = "zeros", "all", "earlier", "some", "finite", "held", "drawn"


_PACKAGE = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
_REMEDIES = os.path.join(_PACKAGE, "remedies") + os.sep
#: What stands between whoever reads and the card.
_BETWEEN = tuple(os.path.join(_PACKAGE, name) + os.sep for name in ("hollow", "values"))


class Reads:
    """Counts device-to-host copies by the user's line."""

    def __init__(self, watch: Callable[[FrameType, object, int], None]) -> None:
        self.lines: Counter[tuple[str, int, str]] = Counter()
        #: Those of them by which something is decided: a size, an index, a branch.
        self.deciding: set[tuple[str, int, str]] = set()
        self.steering = Steering()
        #: The last of them.
        self.last: tuple[str, int, str] | None = None
        self._watch = watch
        self._state = threading.local()
        self._callback: object = None
        self._answer: Callable[[bytes | None, int], None] = lambda _bytes, _count: None

    def install(self, _torch: ModuleType) -> None:
        """Asks the hollow card to call back on every read."""
        library = ctypes.CDLL(None)
        try:
            register, self._answer = library.oomph_hollow_on_read, library.oomph_hollow_answer
        except AttributeError:
            return
        signature = ctypes.CFUNCTYPE(None)
        # The library keeps the pointer only: without this reference Python would free what it points to.
        self._callback = signature(self._on_read)
        register.argtypes = [signature]
        register.restype = None
        register(self._callback)
        library.oomph_hollow_answer.argtypes = [ctypes.c_char_p, ctypes.c_size_t]
        library.oomph_hollow_answer.restype = None

    @contextlib.contextmanager
    def answered(self, answer: bytes, assumed: str | None) -> Iterator[None]:
        """The first read inside gives `answer`: known if nothing was `assumed` for it."""
        before = getattr(self._state, "assumed", ZEROS)
        self._state.assumed, self._state.is_size = assumed, True
        self._answer(answer, len(answer))
        try:
            yield
        finally:
            self._answer(None, 0)
            self._state.assumed, self._state.is_size = before, False

    def note(self, assumed: str) -> None:
        """The script reads a value that was taken for something."""
        self._count(sys._getframe(1), assumed)

    def _on_read(self) -> None:
        assumed = getattr(self._state, "assumed", ZEROS)
        frame = sys._getframe(1)
        # What remedies copy to the host is only kept there.
        if assumed is not None and not _is_of_remedy(frame):
            self._count(frame, assumed)

    def _count(self, start: FrameType, assumed: str) -> None:
        line = (*place_of(start), assumed)
        self.last = line
        self.lines[line] += 1
        if line not in self.deciding and assumed not in (FINITE, HELD, DRAWN):
            is_size = getattr(self._state, "is_size", False) and not is_shown(start)
            if is_size or self.steering.steers(start):
                self.deciding.add(line)
        self._watch(start, line, self.lines[line])

    def listing(self) -> list[dict[str, object]]:
        """By line, the most frequent first."""
        return [
            {"file": line[0], "line": line[1], "count": count, "assumed": line[2], "decides": line in self.deciding}
            for line, count in self.lines.most_common()
        ]


def _is_of_remedy(frame: FrameType | None) -> bool:
    while frame is not None and frame.f_code.co_filename.startswith(_BETWEEN):
        frame = frame.f_back
    return frame is not None and frame.f_code.co_filename.startswith(_REMEDIES)
