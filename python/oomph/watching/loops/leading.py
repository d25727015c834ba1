"""Leads a loop that would end to what it has not done yet: the branch that only the 500th iteration takes."""

from __future__ import annotations

from types import FrameType
from typing import Any, Protocol

from . import frames
from .conditions import Condition, Counters, Round
from .deciding import Visit
from .sites import Branch
from .walk import Record, Walk

#: Later iterations that are searched one by one for one that takes a branch; and seconds for that.
HORIZON = 200_000
SEARCH_SECONDS = 0.2
#: More iterations than any loop has.
UNBOUNDED = 1 << 60
#: Iterations after which nobody waits any longer for what an inner loop may do.
MOST_WAITING = 256


class Watched(Protocol):
    """What is asked of a loop."""

    count: int
    offset: int

    def remaining(self) -> int | None:
        """Iterations that are left, if anybody knows."""

    def is_over_collection(self) -> bool:
        """Whether its items were put together by somebody, so that none can be made up."""


class Leader:
    """Follows the counters of one visit, and moves them on."""

    def __init__(self, walk: Walk, record: Record, visit: Visit) -> None:
        self.walk = walk
        self.record = record
        self.site = record.site
        self.visit = visit
        self.counters = Counters()
        #: Leaves that go on counting from visit to visit.
        self.carried: set[str] = set()
        #: Iterations that were skipped, and those of them that belong to this visit.
        self.skipped = self.skipped_within = 0
        #: The branch that the loop is on its way to, and iterations that it may take to get there.
        self.aim: Branch | None = None
        self.patience = 0
        #: `Walk.activity_total` at the beginning of the iteration that is over.
        self.iteration_began_at = 0

    def follow(self, frame: FrameType) -> None:
        """Notes the values of the leaves, and which of them were not set back when the loop began again."""
        leaves = self.site.leaves()
        if not leaves:
            return
        values = frames.read(frame, leaves)
        for leaf in values.keys() - self.counters.values.keys():
            last = self.record.last_counters
            at_last = last.values.get(leaf)
            if type(at_last) is int and type(values[leaf]) is int:
                # What had moved and is where it was has not begun anew: it only moves every few iterations.
                least = at_last if last.moving([leaf]) else at_last + 1
                if values[leaf] >= least:
                    self.carried.add(leaf)
        self.counters.observe(values)
        self.record.last_counters = self.counters

    def length(self, loop: Watched) -> int | None:
        """The length of a loop that counts by itself: `while step < steps`, `if step == steps: break`."""
        way_out = self._way_out()
        if way_out is None or (self.visit.has_inner and not self._counts_by_one()):
            return None
        return self.done(loop) + way_out

    def _counts_by_one(self) -> bool:
        """Inner loops that are cut move what they count by less than they would; epochs are counted one by one."""
        moving = self.counters.moving(self.site.leaves())
        return all(abs(self.counters.counters[leaf].amount) == 1 for leaf in moving)

    def _way_out(self) -> int | None:
        """In how many iterations the loop leaves by what it counts."""
        ways_out = [branch.condition for branch in self.site.branches if branch.effect != "stays"]
        if self.site.condition is not None:
            ways_out.append(self.site.condition)
        found = [self._first_time(way, UNBOUNDED) for way in ways_out if self.counters.certain(way)]
        return min((at for at in found if at is not None), default=None)

    def done(self, loop: Watched) -> int:
        """Iterations of this visit that are over or were skipped."""
        return loop.count - 1 + self.skipped_within

    def is_on_its_way(self) -> bool:
        """Whether the loop has been led to a branch and may still get there."""
        if self.aim is not None and not self.aim.is_taken and self.patience > 0:
            self.patience -= 1
            return True
        self.aim = None
        return False

    def lead(self, loop: Watched, frame: FrameType) -> bool:
        """Before the loop ends: leads it to the next branch that no iteration has taken, if there is one."""
        found: list[tuple[int, Branch]] = []
        for branch in (*self.site.branches, *self.site.inner_branches):
            if not (branch.is_taken or branch.is_tried or branch.effect == "breaks"):
                at = self._first_time(branch.condition, *self._reach(branch, loop))
                if at is not None:
                    found.append((at, branch))
        for at, branch in sorted(found, key=lambda pair: pair[0]):
            branch.is_tried = True
            if self._skip_to(at, branch, loop, frame):
                self.aim = branch
                return True
        return self._lead_to_distant(loop) or self._waits_for_inner()

    def _lead_to_distant(self, loop: Watched) -> bool:
        """The same for branches of functions that the last iteration called."""
        for branch in self.walk.distant:
            if branch.is_taken or branch.is_tried or branch.asked_at <= self.iteration_began_at:
                continue
            total, done = self.visit.total, self.done(loop)
            if self.record.history.visits:
                # The object that counts has outlived the visit before.
                total, done = self.walk.length_around(self.visit), self._done_ever(loop)
            before = UNBOUNDED if total is None else total - done + 1
            at = self._first_time(branch.condition, before, counters=branch.counters)
            if at is not None:
                branch.is_tried = True
                if at == 1 or branch.skip(at - 1):
                    self.aim, self.patience = branch, branch.counters.longest_period(branch.condition)
                    self.skipped += at - 1
                    # They have moved by what no iteration moves them.
                    self.counters = Counters()
                    return True
        return False

    def _first_time(
        self, condition: Condition, before: int, again: Round | None = None, counters: Counters | None = None
    ) -> int | None:
        counters = counters or self.counters
        clock, start = self.walk.clock, self.walk.clock()
        near = min(before, HORIZON)
        at = counters.first_time(condition, near, lambda: clock() - start > SEARCH_SECONDS, again)
        if at is None and again is None:
            at = counters.limit(condition)
        return at if at is not None and at < before else None

    def _done_ever(self, loop: Watched) -> int:
        """Iterations of all visits that are over or were skipped."""
        return self.record.seen + self.record.skipped + loop.count - 1 + self.skipped

    def _reach(self, branch: Branch, loop: Watched) -> tuple[int, Round | None]:
        """Iterations within which a branch can be taken; and what begins anew on the way there."""
        total, done = self.visit.total, self.done(loop)
        moving = frozenset(self.counters.moving(branch.condition.leaves))
        if total is None or not moving & self.carried:
            return UNBOUNDED if total is None else total - done + 1, None
        # What is counted from visit to visit goes on as long as the loops around, or until it leaves them.
        again = Round(moving - self.carried, total, done) if moving - self.carried else None
        way_out = self._way_out()
        if way_out is not None:
            return way_out + 1, again
        around = self.walk.length_around(self.visit)
        return UNBOUNDED if around is None else around - self._done_ever(loop) + 1, again

    def _skip_to(self, at: int, branch: Branch, loop: Watched, frame: FrameType) -> bool:
        """Makes the next iteration the one that takes the branch, or waits for it where that is cheap."""
        self.patience = self.counters.longest_period(branch.condition)
        skipped = at - 1
        if not skipped:
            return True
        # Behind the end of this visit, what it counts by itself has begun again.
        is_within = self.visit.total is None or self.done(loop) + skipped < self.visit.total
        moving = [leaf for leaf in self.counters.moving(self.site.leaves()) if is_within or leaf in self.carried]
        if not self._move(moving, skipped, loop, frame):
            self.patience = at
            return self.walk.budget.allows(at * self.visit.samples[-1].seconds)
        self.skipped += skipped
        self.skipped_within += skipped if is_within else 0
        self.counters.skip(skipped, moving)
        return True

    def _move(self, moving: list[str], skipped: int, loop: Watched, frame: FrameType) -> bool:
        """Gives counters the values that they would have by then; whether all could be given theirs."""
        counters = self.counters.counters
        values: dict[str, Any] = {leaf: counters[leaf].after(skipped) for leaf in moving}
        ahead = 0
        if self.site.index is not None and self.site.index in values:
            # The iterator of the loop gives it its value.
            ahead = values.pop(self.site.index) - counters[self.site.index].value
        if (ahead and loop.is_over_collection()) or not frames.assign(frame, values):
            return False
        loop.offset += ahead
        return True

    def _waits_for_inner(self) -> bool:
        """Whether an inner loop will get to one of its branches by and by (`if len(buffer) > n`), and that is cheap."""
        seconds = self.visit.samples[-1].seconds
        if self.visit.count >= MOST_WAITING or not self.walk.budget.allows(seconds, 0.5):
            return False
        pending = (branch for branch in self.site.inner_branches if not branch.is_taken and branch.effect == "stays")
        if not any(self.counters.comes_true(branch.condition) for branch in pending):
            return False
        self.walk.budget.spent += seconds
        return True
