"""The loops of a running script: what the rewritten code calls, and what goes on between two iterations.

Most loops have nothing to do with the card. For them an iteration costs one comparison; the first that finds the job
moved on since the one before makes the loop one that *drives* it, and only then is anything measured.
"""

from __future__ import annotations

import inspect
import sys
import threading
from collections.abc import Callable, Generator, Iterable, Iterator
from types import CodeType, FrameType
from typing import Any

from . import conditions, deciding, distant, frames, leading, memory, sites, totals, visits, walk
from .visits import Run
from .walk import Record, Start, Walk

_EMPTY: tuple[Iterable[Any], ...] = ([], (), {}, {}.values(), {}.items(), set(), "")
_COLLECTIONS = tuple(type(iter(thing)) for thing in _EMPTY)


class Loop:
    """The state of a loop that drives the job, or may."""

    __slots__ = ("check_at", "count", "mark", "offset", "probe", "record", "run", "source", "walk")

    def __init__(self, walk: Walk, record: Record, source: Iterator[Any] | None, start: Start | None) -> None:
        self.walk = walk
        self.record = record
        #: What a `for` goes through.
        self.source = source
        #: Iterations begun, and the one at whose beginning the loop is looked at although nothing moved.
        self.count = 0
        self.check_at = record.first_check
        #: What the index is ahead of its iterator: iterations that were skipped.
        self.offset = 0
        self.mark = walk.activity_total()
        self.probe: int | None = None
        self.run = Run(walk, record, start) if start is None else None

    def turn(self, frame: FrameType, start: Start) -> bool:
        """Between two iterations: whether there is another one."""
        if not self.walk.is_on:
            return True
        is_moved = self.walk.activity_total() != (start[0] if self.run is None else self.mark)
        if self.run is None:
            if not is_moved and not self._allocates():
                return True
            self.run = Run(self.walk, self.record, start)
        goes_on = self.run.iteration_ended(self, frame, is_moved)
        self.mark = self.walk.activity_total()
        if self.run.visit.only_allocates:
            self.check_at = self.count + 1
        return goes_on

    def remaining(self) -> int | None:
        """Iterations that are left, as far as the iterator knows."""
        return None if self.source is None else totals.remaining_of(self.source, self.count - 1)

    def is_over_collection(self) -> bool:
        """Whether its items were put together by somebody, so that none can be made up."""
        return type(self.source) in _COLLECTIONS

    def close(self) -> None:
        """The iterator has nothing left."""
        if self.run is not None:
            self.run.close("own_end", self.count - 1)

    def _allocates(self) -> bool:
        """Whether memory was allocated between this and the last time it was asked."""
        self.check_at = 2 * self.count
        allocations = self.walk.allocations()
        if allocations is None:
            # No card is in use yet.
            self.record.found_quiet()
            return False
        if self.probe is None:
            self.probe, self.check_at = allocations, self.count + 1
            return False
        if allocations == self.probe:
            self.record.found_quiet()
        return allocations != self.probe


def _through(walk: Walk, record: Record, source: Iterator[Any]) -> Generator[Any, None, None]:
    """What a `for` goes through. Nothing here holds what is handed out: a body that deletes its batch frees it."""
    activity, check_at, offset, count = walk.activity, record.first_check, 0, 0
    mark = activity.steps + activity.backwards + activity.calls
    start = mark, activity.steps, activity.backwards, walk.covered, walk.news
    state = Loop(walk, record, source, None) if record.drives else None
    try:
        while True:
            count += 1
            if activity.steps + activity.backwards + activity.calls != mark or count == check_at:
                if state is None:
                    state = Loop(walk, record, source, start)
                state.count = count
                if not state.turn(sys._getframe(1), start):
                    return
                mark, check_at, offset = state.mark, state.check_at, state.offset
            if offset:
                yield _ahead(next(source), offset, record.site.is_index_first)
            else:
                yield next(source)
    except StopIteration:
        if state is not None:
            state.count = count
            state.close()


def _asked(walk: Walk, record: Record) -> Generator[bool, None, None]:
    """What a `while` asks before each iteration."""
    activity, check_at, count = walk.activity, record.first_check, 0
    mark = activity.steps + activity.backwards + activity.calls
    start = mark, activity.steps, activity.backwards, walk.covered, walk.news
    state = Loop(walk, record, None, None) if record.drives else None
    while True:
        count += 1
        if activity.steps + activity.backwards + activity.calls != mark or count == check_at:
            if state is None:
                state = Loop(walk, record, None, start)
            state.count = count
            if not state.turn(sys._getframe(1), start):
                yield False
            mark, check_at = state.mark, state.check_at
        yield True


def _ahead(item: Any, offset: int, is_index_first: bool) -> Any:
    """The item with its index moved on."""
    if not is_index_first:
        return item + offset if type(item) is int else item
    if type(item) is tuple and item and type(item[0]) is int:
        return (item[0] + offset, *item[1:])
    return item


# What the rewritten code calls. Under `torch.compile` the first line of each is all there is to them.

_walk: Walk | None = None


def is_compiling() -> bool:
    """Until torch is there, nothing is."""
    return False


def loop(iterable: Iterable[Any], number: int) -> Iterable[Any]:
    """What a `for` goes through instead of `iterable`."""
    if is_compiling():
        return iterable
    walk = _walk
    if walk is None or not walk.is_on or walk.activity.depth or threading.get_ident() != walk.thread:
        return iterable
    return _through(walk, walk.records[number], iter(iterable))


def enter(number: int) -> Callable[[], bool] | None:
    """Before a `while`: what it asks before every iteration, if anything."""
    if is_compiling():
        return None
    walk = _walk
    if walk is None or not walk.is_on or threading.get_ident() != walk.thread:
        return None
    record = walk.records[number]
    record.entries += 1
    return None if walk.activity.depth else _asked(walk, record).__next__


def taken(number: int) -> None:
    """An iteration takes a branch that others do not."""
    if is_compiling():
        return
    if _walk is not None:
        _walk.branches[number].is_taken = True


def asked(number: int) -> None:
    """A function is about to ask a condition that counts."""
    if is_compiling():
        return
    walk = _walk
    if walk is not None and walk.is_on and not walk.activity.depth and threading.get_ident() == walk.thread:
        walk.branches[number].ask(sys._getframe(1), walk.activity_total())  # type: ignore[attr-defined]


def use(walk: Walk | None) -> None:
    """Makes loops watched by this walk, or by none."""
    global _walk
    _walk = walk


def use_compiler(test: Callable[[], bool]) -> None:
    """How torch says that it compiles."""
    global is_compiling
    is_compiling = test


def leave_alone(skip: Callable[[CodeType], None]) -> None:
    """Called from a function that `torch.compile` gave up on, our own functions would be compiled: they are skipped."""
    parts = (conditions, deciding, distant, frames, leading, memory, sites, totals, visits, walk)
    for module in (*parts, sys.modules[__name__]):
        for thing in vars(module).values():
            if getattr(thing, "__module__", None) == module.__name__:
                for function in (thing, *getattr(thing, "__dict__", {}).values()):
                    function = getattr(function, "fget", None) or inspect.unwrap(function)
                    for code in _codes(getattr(function, "__code__", None)):
                        skip(code)


def _codes(code: CodeType | None) -> Iterator[CodeType]:
    """A function's code and that of the functions inside of it."""
    if isinstance(code, CodeType):
        yield code
        for inner in code.co_consts:
            yield from _codes(inner)
