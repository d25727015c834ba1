"""What the loops of one process share, and what is known of each over all its visits."""

from __future__ import annotations

import sys
import threading
import time
import weakref
from collections.abc import Callable
from typing import Any, NamedTuple

from ..activity import Activity
from .conditions import Counters
from .deciding import Budget, History, Visit
from .distant import Distant
from .memory import Numbers
from .sites import Branch, Site

#: All activity, optimizer steps, backward passes, `Walk.covered` and `Walk.news` at one time.
Start = tuple[int, int, int, tuple[int, int, int], int]
#: See `Record.first_check`: at first, and after some and many visits that allocated nothing.
_FIRST_CHECK, _PATIENT_CHECK, _RARE_CHECK = 2, 64, 4096
_QUIET_SOON, _QUIET_FOR_LONG = 3, 30
#: Ends of iterations that are reported.
_LIVE_REPORTED = 8


class Moment(NamedTuple):
    """The state of the job between two iterations."""

    numbers: Numbers
    steps: int
    backwards: int
    training_calls: int
    total: int
    #: `Walk.covered` and `Walk.news`.
    covered: tuple[int, int, int]
    news: int
    seconds: float
    #: How many `Walk.parts` there were.
    parts: int


class Record:
    """What is known of one loop over all its visits."""

    def __init__(self, site: Site) -> None:
        self.site = site
        self.history = History()
        #: How often a `while` was come to, whether or not it drives anything.
        self.entries = 0
        #: Visits in which it allocated nothing.
        self.quiet_visits = 0
        #: The iteration at whose beginning the allocator is asked for the first time.
        self.first_check = _FIRST_CHECK
        #: Whether something of the job happens in it, and whether a card or the training takes part in that.
        self.drives = False
        self.is_on_card = False
        self.kind = "other"
        #: Whether it is a part of what a training loop does in an iteration.
        self.is_part = False
        #: Iterations run, over all visits and in the longest.
        self.seen = 0
        self.longest_visit = 0
        self.skipped = 0
        self.total: int | None = None
        self.ended = "running"
        self.live_bytes: list[int] = []
        #: What the leaves of its conditions did in the last visit.
        self.last_counters = Counters()
        self.growth_bytes = 0
        self.host_growth_bytes = self.host_tensor_growth_bytes = 0

    def found_quiet(self) -> None:
        """It allocated nothing: asking costs as much as many small iterations, so it is asked less and less."""
        self.quiet_visits += 1
        if self.quiet_visits > _QUIET_SOON:
            self.first_check = _PATIENT_CHECK if self.quiet_visits < _QUIET_FOR_LONG else _RARE_CHECK

    def close(self, visit: Visit, reason: str, seen: int, skipped: int) -> None:
        """A visit is over."""
        self.history.visits += 1
        self.seen += seen
        self.longest_visit = max(self.longest_visit, seen)
        self.skipped += skipped
        total = seen if visit.total is None and reason == "own_end" else visit.total
        # Where it is different every time, there is no number to tell.
        is_the_same = self.history.visits == 1 or visit.total is not None or total == self.total
        self.total = total if is_the_same else None
        self.ended = reason
        self.live_bytes = visit.lives[-_LIVE_REPORTED:]
        self.growth_bytes = visit.growth_bytes_per_iteration()
        self.host_growth_bytes = visit.host_growth_bytes_per_iteration()
        self.host_tensor_growth_bytes = visit.host_tensor_growth_bytes_per_iteration()

    def facts(self) -> dict[str, Any]:
        """For the account."""
        return {
            "file": self.site.file,
            "line": self.site.line,
            "function": self.site.function,
            "kind": "other" if self.is_part else self.kind,
            "seen": self.seen,
            "longest_visit": self.longest_visit,
            "skipped": self.skipped,
            "total": self.total,
            "visits": self.history.visits,
            "ended": self.ended,
            "live_bytes": self.live_bytes,
            "growth_bytes_per_iteration": self.growth_bytes,
            "host_growth_bytes_per_iteration": self.host_growth_bytes,
            "host_tensor_growth_bytes_per_iteration": self.host_tensor_growth_bytes,
        }


class Walk:
    """Everything that the loops of one process share."""

    def __init__(
        self,
        activity: Activity,
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
        #: Whether loops are watched at all.
        self.is_on = True
        #: The only thread whose loops are.
        self.thread = threading.get_ident()
        self.budget = Budget(clock)
        #: Activity inside the iterations of loops, so far: total, steps and backward passes.
        self.covered = (0, 0, 0)
        #: Iterations so far that were unlike all before.
        self.news = 0
        #: By the numbers in compiled code.
        self.records: list[Record] = []
        self.branches: list[Branch] = []
        self.distant: list[Distant] = []
        #: Loops without a backward pass of their own that have ended while autograd recorded, and the passes by then.
        self.parts: list[tuple[Record, int]] = []
        #: Visits that have not ended.
        self.visits: weakref.WeakSet[Visit] = weakref.WeakSet()
        #: Loops that were ended before their own end, the latest last.
        self.ended_early: list[Record] = []
        #: Files and lines of loops of which the code after them needs all iterations.
        self.needed_whole: frozenset[tuple[str, int]] = frozenset()

    def add_site(self, site: Site) -> int:
        """The number by which compiled code names a loop."""
        self.records.append(Record(site))
        return len(self.records) - 1

    def add_branch(self, branch: Branch) -> int:
        """The number by which compiled code names a branch."""
        self.branches.append(branch)
        if isinstance(branch, Distant):
            self.distant.append(branch)
        return len(self.branches) - 1

    def length_around(self, inner: Visit) -> int | None:
        """Iterations of a loop over all visits that the loops around it make; None where nobody knows."""
        length = inner.total
        for visit in self.visits:
            if visit is not inner and visit.has_inner:
                length = None if length is None or visit.total is None else length * visit.total
        return length

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
        shared = self.covered, self.news, self.clock(), len(self.parts)
        return Moment(numbers, steps, backwards, activity.training_calls, self.activity_total(), *shared)

    def records_graphs(self) -> bool:
        """Whether autograd records what is done now."""
        torch: Any = sys.modules.get("torch")
        return torch is not None and bool(torch.is_grad_enabled())

    def claim_parts(self, since: int) -> None:
        """A backward pass has gone through what loops before it did that looked like evaluation: layers, time steps."""
        for record, backwards in self.parts[since:]:
            record.is_part |= backwards < self.activity.backwards
        del self.parts[since:]

    def cover(self, before: Moment, now: Moment) -> None:
        """An iteration ended: what happened in it is its own and its inner loops', not its outer loops'."""
        moved = (now.total - before.total, now.steps - before.steps, now.backwards - before.backwards)
        covered = before.covered
        self.covered = (covered[0] + moved[0], covered[1] + moved[1], covered[2] + moved[2])
