"""One run of a loop that drives the job, measured iteration by iteration, and what remains known of the loop afterwards."""

from __future__ import annotations

import dis
import os
import sys
import threading
import time
from collections.abc import Callable
from types import FrameType
from typing import Any, NamedTuple, Protocol

from . import frames
from .conditions import Condition, Counters
from .deciding import Budget, History, Sample, Visit
from .memory import Numbers
from .sites import Branch, Site

#: All activity, optimizer steps, backward passes, `Walk.covered` and `Walk.news` at one time.
Start = tuple[int, int, int, tuple[int, int, int], int]
#: Later iterations that are searched for one that takes a branch; and seconds for that.
HORIZON = 200_000
SEARCH_SECONDS = 0.2
#: Iterations after which nobody waits any longer for what an inner loop may do.
MOST_WAITING = 256
#: See `Record.first_check`: at first, and after some and many visits that allocated nothing.
_FIRST_CHECK, _PATIENT_CHECK, _RARE_CHECK = 2, 64, 4096
_QUIET_SOON, _QUIET_FOR_LONG = 3, 30
#: Ends of iterations that are reported.
_LIVE_REPORTED = 8
#: Frames of ours that may be on their way out when a loop goes.
_OWN_FRAMES = 3
#: Instructions by which a loop is left on purpose.
_LEAVING = {"POP_TOP", "POP_ITER", "END_FOR", "SWAP", "ROT_TWO", "DELETE_FAST", "DELETE_NAME", "DELETE_GLOBAL", "DELETE_DEREF"}


class Watched(Protocol):
    """What a run asks of its loop."""

    count: int
    offset: int

    def remaining(self) -> int | None:
        """Iterations that are left, if anybody knows."""

    def may_skip(self) -> bool:
        """Whether the index may run ahead of its iterator."""


class Moment(NamedTuple):
    """The state of the job between two iterations."""

    numbers: Numbers
    steps: int
    backwards: int
    total: int
    #: Activity inside the iterations of loops, so far: total, steps and backward passes.
    covered: tuple[int, int, int]
    #: Iterations so far that were unlike all before.
    news: int
    seconds: float


class Record:
    """What is known of one loop over all its visits."""

    def __init__(self, site: Site) -> None:
        self.site = site
        self.history = History()
        #: Visits in which it allocated nothing.
        self.quiet_visits = 0
        #: The iteration at whose beginning the allocator is asked for the first time.
        self.first_check = _FIRST_CHECK
        self.drives = False
        self.kind = "other"
        #: Iterations run, over all visits and in the longest.
        self.seen = 0
        self.longest_visit = 0
        self.skipped = 0
        self.total: int | None = None
        self.ended = "running"
        self.live_bytes: list[int] = []
        #: Values of the leaves of its conditions at the end of the last visit.
        self.last_values: dict[str, Any] = {}
        self.growth_bytes = 0

    def found_quiet(self) -> None:
        """It allocated nothing: asking costs as much as many small iterations, so it is asked less and less."""
        self.quiet_visits += 1
        if self.quiet_visits > _QUIET_SOON:
            self.first_check = _PATIENT_CHECK if self.quiet_visits < _QUIET_FOR_LONG else _RARE_CHECK

    def facts(self) -> dict[str, Any]:
        """For the account."""
        return {
            "file": self.site.file,
            "line": self.site.line,
            "function": self.site.function,
            "kind": self.kind,
            "seen": self.seen,
            "longest_visit": self.longest_visit,
            "skipped": self.skipped,
            "total": self.total,
            "visits": self.history.visits,
            "ended": self.ended,
            "live_bytes": self.live_bytes,
            "growth_bytes_per_iteration": self.growth_bytes,
        }


class Walk:
    """Everything that the loops of one process share."""

    def __init__(
        self,
        activity: Any,
        recorder: Any,
        report: Callable[[dict[str, Any]], None],
        numbers: Callable[[], Numbers],
        *,
        is_walking: bool,
        clock: Callable[[], float] = time.perf_counter,
    ) -> None:
        self.activity = activity
        self.recorder = recorder
        self.report = report
        self.numbers = numbers
        #: Whether loops may be ended; else they are only watched.
        self.is_walking = is_walking
        self.clock = clock
        self.is_on = True
        self.thread = threading.get_ident()
        self.budget = Budget(clock)
        self.covered = (0, 0, 0)
        self.news = 0
        #: By the numbers in compiled code.
        self.records: list[Record] = []
        self.branches: list[Branch] = []
        #: Loops that were ended before their own end, the latest last.
        self.ended_early: list[Record] = []

    def add_site(self, site: Site) -> int:
        """The number by which compiled code names a loop."""
        self.records.append(Record(site))
        return len(self.records) - 1

    def add_branch(self, branch: Branch) -> int:
        """The number by which compiled code names a branch."""
        self.branches.append(branch)
        return len(self.branches) - 1

    def activity_total(self) -> int:
        """Changes whenever the job has moved on."""
        return self.activity.steps + self.activity.backwards + self.activity.calls

    def allocations(self) -> int | None:
        """Blocks allocated so far; None before the first use of a card."""
        return self.numbers().allocations if self.recorder.recording else None

    def moment(self) -> Moment:
        """Now."""
        activity = self.activity
        numbers = self.numbers() if self.recorder.recording else Numbers()
        steps, backwards = activity.steps, activity.backwards
        return Moment(numbers, steps, backwards, self.activity_total(), self.covered, self.news, self.clock())

    def cover(self, before: Moment, now: Moment) -> None:
        """An iteration ended: what happened in it is its own and its inner loops', not its outer loops'."""
        moved = (now.total - before.total, now.steps - before.steps, now.backwards - before.backwards)
        covered = before.covered
        self.covered = (covered[0] + moved[0], covered[1] + moved[1], covered[2] + moved[2])


class Run:
    """One visit. It goes when its loop goes, which is how a `break` is noticed."""

    def __init__(self, walk: Walk, record: Record, start: Start | None = None) -> None:
        self.walk = walk
        self.record = record
        self.site = record.site
        self.visit = Visit(record.history, walk.budget, collects=record.site.collects)
        self.before = walk.moment()
        #: Whether the memory at the beginning of the first iteration was missed.
        self.starts_late = start is not None
        if start is not None:
            total, steps, backwards, covered, news = start
            at_start = {"total": total, "steps": steps, "backwards": backwards, "covered": covered, "news": news}
            self.before = self.before._replace(**at_start)
        self.counters = Counters()
        #: Leaves that go on counting from visit to visit.
        self.carried: set[str] = set()
        self.begun = 0
        #: Iterations that were skipped, and those of them that belong to this visit.
        self.skipped = self.skipped_within = 0
        self.ending: str | None = None
        self.aim: Branch | None = None
        self.patience = 0
        self.is_closed = False

    def iteration_ended(self, loop: Watched, frame: FrameType, is_moved: bool) -> bool:
        """Measures the iteration that is over and says whether there is another one."""
        now = self.walk.moment()
        is_first = not self.visit.samples
        self.begun = loop.count
        if is_first:
            self.record.drives = True
            self.visit.only_allocates = not is_moved
            left = loop.remaining()
            self.visit.total = None if left is None else left + loop.count - 1
        elif is_moved:
            self.visit.only_allocates = False
        if self.visit.add(self._sample(now)) and not (self.visit.is_around or self.visit.only_allocates):
            self.walk.news += 1
        self._classify()
        if is_moved:
            self.walk.cover(self.before, now)
        if leaves := self.site.leaves():
            self._follow(frames.read(frame, leaves))
        goes_on = not self.walk.is_walking or self._goes_on(loop, frame)
        if not goes_on:
            self.close(self.ending or "repeats", loop.count - 1)
        elif not self.visit.is_around:
            place = f"{os.path.basename(self.site.file)}:{self.site.line}"
            self.walk.recorder.mark(f"iteration {place} {loop.count}", "START")
        self.before = self.walk.moment()
        return goes_on

    def _follow(self, values: dict[str, Any]) -> None:
        """Notes the values of the leaves, and which of them were not set back when the loop began again."""
        for leaf in values.keys() - self.counters.values.keys():
            last = self.record.last_values.get(leaf)
            if type(last) is int and type(values[leaf]) is int and values[leaf] > last:
                self.carried.add(leaf)
        self.counters.observe(values)
        self.record.last_values = self.counters.values

    def _sample(self, now: Moment) -> Sample:
        before, covered = self.before, self.walk.covered
        numbers, is_partial = now.numbers, self.starts_late and not self.visit.samples
        inner = tuple(after - at_first for after, at_first in zip(covered, before.covered))
        steps, backwards = now.steps - before.steps, now.backwards - before.backwards
        return Sample(
            live_bytes=numbers.live_bytes,
            allocated_bytes=None if is_partial else numbers.allocated_bytes - before.numbers.allocated_bytes,
            allocations=None if is_partial else numbers.allocations - before.numbers.allocations,
            steps=steps,
            backwards=backwards,
            own_steps=steps - inner[1],
            own_backwards=backwards - inner[2],
            shortages=numbers.shortages - before.numbers.shortages,
            has_inner=inner[0] > 0,
            is_new_inside=now.news != before.news,
            seconds=now.seconds - before.seconds,
        )

    def _classify(self) -> None:
        samples = self.visit.samples
        trains = any(sample.steps or sample.backwards for sample in samples)
        if self.visit.only_allocates:
            self.record.kind = "other"
        elif self.visit.is_around:
            self.record.kind = "epochs" if trains else "evaluation"
        else:
            self.record.kind = "training" if trains else "evaluation"

    # What comes next.

    def _goes_on(self, loop: Watched, frame: FrameType) -> bool:
        if self.visit.total is None and len(self.visit.samples) in (2, 3):
            self._derive_total(loop)
        if self.visit.total is not None and self._done(loop) >= self.visit.total:
            # It ends by itself.
            return True
        if self.aim is not None and not self.aim.is_taken and self.patience > 0:
            self.patience -= 1
            return True
        self.aim = None
        if self.ending is None:
            self.ending = self.visit.verdict()
        if self.ending is None or self._lead(loop, frame):
            return True
        if self.site.on_end is None:
            return False
        with frames.variables(frame) as variables:
            follows = self.site.on_end(variables)
        if follows == "more":
            # Other data, which may be of another size.
            self.ending, self.visit.samples = None, []
        return follows != "nothing"

    def _derive_total(self, loop: Watched) -> None:
        """The length of a loop that counts by itself: `while step < steps`, `if step == steps: break`."""
        ways_out = [branch.condition for branch in self.site.branches if branch.effect != "stays"]
        if self.site.condition is not None:
            ways_out.append(self.site.condition)
        found = [self._first_time(way, HORIZON) for way in ways_out if self.counters.certain(way)]
        if times := [at for at in found if at is not None]:
            self.visit.total = loop.count - 1 + min(times)

    def _first_time(self, condition: Condition, before: int) -> int | None:
        clock, start = self.walk.clock, self.walk.clock()
        return self.counters.first_time(condition, before, lambda: clock() - start > SEARCH_SECONDS)

    def _lead(self, loop: Watched, frame: FrameType) -> bool:
        """Before the loop ends: leads it to the next branch that no iteration has taken, if there is one."""
        found: list[tuple[int, Branch]] = []
        for branch in (*self.site.branches, *self.site.inner_branches):
            if not (branch.is_taken or branch.is_tried or branch.effect == "breaks"):
                at = self._first_time(branch.condition, self._reach(branch, loop))
                if at is not None:
                    found.append((at, branch))
        for at, branch in sorted(found, key=lambda pair: pair[0]):
            branch.is_tried = True
            if self._skip_to(at, branch, loop, frame):
                self.aim = branch
                return True
        return self._waits_for_inner()

    def _reach(self, branch: Branch, loop: Watched) -> int:
        """Iterations from now within which a branch can be taken: what is counted from visit to visit goes on for long."""
        moving = self.counters.moving(branch.condition.leaves)
        if self.visit.total is None or (moving and all(leaf in self.carried for leaf in moving)):
            return HORIZON
        return min(HORIZON, self.visit.total - self._done(loop) + 1)

    def _waits_for_inner(self) -> bool:
        """Whether an inner loop will get to one of its branches by and by (`if len(buffer) > n`), and that is cheap."""
        if len(self.visit.samples) >= MOST_WAITING or not self.walk.budget.allows(self.visit.samples[-1].seconds, 0.5):
            return False
        pending = (branch for branch in self.site.inner_branches if not branch.is_taken and branch.effect == "stays")
        if not any(self.counters.comes_true(branch.condition) for branch in pending):
            return False
        self.walk.budget.spent += self.visit.samples[-1].seconds
        return True

    def _skip_to(self, at: int, branch: Branch, loop: Watched, frame: FrameType) -> bool:
        """Makes the next iteration the one that takes the branch, or waits for it where that is cheap."""
        self.patience = self.counters.longest_period(branch.condition)
        skipped = at - 1
        if not skipped:
            return True
        # Behind the end of this visit, what it counts by itself has begun again.
        is_within = self.visit.total is None or self._done(loop) + skipped < self.visit.total
        moving = [leaf for leaf in self.counters.moving(self.site.leaves()) if is_within or leaf in self.carried]
        counters = self.counters.counters
        values = {leaf: counters[leaf].after(skipped) for leaf in moving}
        index = values.pop(self.site.index, None) if self.site.index else None
        ahead = 0 if index is None or self.site.index is None else index - counters[self.site.index].value
        if (ahead and not loop.may_skip()) or not frames.assign(frame, values):
            self.patience = at
            return self.walk.budget.allows(at * self.visit.samples[-1].seconds)
        loop.offset += ahead
        self.skipped += skipped
        self.skipped_within += skipped if is_within else 0
        self.counters.skip(skipped, moving)
        return True

    def _done(self, loop: Watched) -> int:
        """Iterations of this visit that are over or were skipped."""
        return loop.count - 1 + self.skipped_within

    # The end.

    def close(self, reason: str, seen: int) -> None:
        """The visit is over."""
        if self.is_closed or not self.visit.samples:
            return
        self.is_closed = True
        record, visit = self.record, self.visit
        record.history.visits += 1
        record.seen += seen
        record.longest_visit = max(record.longest_visit, seen)
        record.skipped += self.skipped
        total = seen if visit.total is None and reason == "own_end" and not self.ending else visit.total
        # Where it is different every time, there is no number to tell.
        record.total = total if record.history.visits == 1 or visit.total is not None or total == record.total else None
        record.ended = self.ending or reason
        record.live_bytes = visit.lives[-_LIVE_REPORTED:]
        record.growth_bytes = visit.growth_bytes_per_iteration()
        if self.ending:
            self.walk.ended_early.append(record)
        self.walk.report(record.facts())

    def __del__(self) -> None:
        if self.is_closed or not self.visit.samples or not self.walk.is_on:
            return
        # The iteration that left the loop was the loop's, too.
        self.walk.cover(self.before, self.walk.moment())
        if not _is_left_on_purpose(sys._getframe(1), self.site.file):
            reason = "raised"
        else:
            # A `while` that breaks has come to its own end.
            reason = "own_end" if self.site.statement == "while" else "break"
        self.close(reason, self.begun)


def _is_left_on_purpose(frame: FrameType | None, file: str) -> bool:
    """Whether the instruction that let go of the loop is one of a `break` or `return`."""
    for _ in range(_OWN_FRAMES):
        if frame is not None and frame.f_code.co_filename != file:
            frame = frame.f_back
    if frame is None or frame.f_code.co_filename != file:
        return True
    at = frame.f_lasti
    name = dis.opname[frame.f_code.co_code[at]] if 0 <= at < len(frame.f_code.co_code) else ""
    return name in _LEAVING or name.startswith("RETURN")
