"""One visit of a loop that drives the job, measured iteration by iteration."""

from __future__ import annotations

import dis
import os
import sys
from types import FrameType

from . import frames
from .deciding import Sample, Visit
from .leading import Leader, Watched
from .walk import Moment, Record, Start, Walk

#: Samples after which it can be told how a loop counts.
_COUNTED = (2, 3)
#: Frames of ours that may be on their way out when a loop goes.
_OWN_FRAMES = 3
#: Instructions by which a loop is left on purpose.
_LEAVING = ("POP_", "END_", "SWAP", "ROT_", "DELETE_", "RETURN")


class Run:
    """One visit. It goes when its loop goes, which is how a `break` is noticed."""

    def __init__(self, walk: Walk, record: Record, start: Start | None = None) -> None:
        self.walk = walk
        self.record = record
        self.site = record.site
        is_needed_whole = (self.site.file, self.site.line) in walk.needed_whole
        self.visit = Visit(record.history, walk.budget, collects=self.site.collects, is_needed_whole=is_needed_whole)
        walk.visits.add(self.visit)
        self.leader = Leader(walk, record, self.visit)
        self.before = walk.moment()
        #: Whether the memory at the beginning of the first iteration was missed.
        self.starts_late = start is not None
        if start is not None:
            total, steps, backwards, covered, news = start
            at_start = self.before._replace(total=total, steps=steps, backwards=backwards)
            self.before = at_start._replace(covered=covered, news=news)
        self.begun = 0
        self.ending: str | None = None
        self.is_closed = False

    def iteration_ended(self, loop: Watched, frame: FrameType, is_moved: bool) -> bool:
        """Measures the iteration that is over and says whether there is another one."""
        now = self.walk.moment()
        self._begin(loop, is_moved)
        if self.visit.add(self._sample(now)) and not (self.visit.is_around or self.visit.only_allocates):
            self.walk.news += 1
        if is_moved:
            self.walk.cover(self.before, now)
        self._classify()
        if self.visit.samples[-1].own_backwards:
            self.walk.claim_parts(self.before.parts)
        self.leader.iteration_began_at = self.before.total
        self.leader.follow(frame)
        goes_on = not self.walk.is_walking or self._goes_on(loop, frame)
        if not goes_on:
            self.close(self.ending or "repeats", loop.count - 1)
        elif not self.visit.is_around:
            place = f"{os.path.basename(self.site.file)}:{self.site.line}"
            self.walk.recorder.mark(f"iteration {place} {loop.count}", "START")
        self.before = self.walk.moment()
        return goes_on

    def _begin(self, loop: Watched, is_moved: bool) -> None:
        self.begun = loop.count
        self.visit.has_optimizer = self.walk.activity.optimizers > 0
        if not self.visit.samples:
            self.record.drives = True
            self.visit.only_allocates = not is_moved
            self.visit.is_over_collection = loop.is_over_collection()
            left = loop.remaining()
            self.visit.total = None if left is None else left + loop.count - 1
        elif is_moved:
            self.visit.only_allocates = False

    def _sample(self, now: Moment) -> Sample:
        before, covered = self.before, self.walk.covered
        numbers, is_partial = now.numbers, self.starts_late and not self.visit.samples
        inner = tuple(after - at_first for after, at_first in zip(covered, before.covered))
        steps, backwards = now.steps - before.steps, now.backwards - before.backwards
        calls = now.total - before.total - steps - backwards
        return Sample(
            live_bytes=numbers.live_bytes,
            allocated_bytes=None if is_partial else numbers.allocated_bytes - before.numbers.allocated_bytes,
            allocations=None if is_partial else numbers.allocations - before.numbers.allocations,
            steps=steps,
            backwards=backwards,
            training_calls=now.training_calls - before.training_calls,
            own_steps=steps - inner[1],
            own_backwards=backwards - inner[2],
            own_calls=calls - (inner[0] - inner[1] - inner[2]),
            shortages=numbers.shortages - before.numbers.shortages,
            has_inner=inner[0] > 0,
            is_new_inside=now.news != before.news,
            seconds=now.seconds - before.seconds,
            host_bytes=numbers.host_bytes,
            host_tensor_bytes=numbers.host_tensor_bytes,
            resident_bytes=numbers.resident_bytes,
        )

    def _classify(self) -> None:
        self.record.is_on_card |= self.visit.is_on_card
        trains = self.visit.has_backwards or self.visit.first_step is not None
        if self.visit.only_allocates:
            self.record.kind = "other"
        elif self.visit.is_around:
            self.record.kind = "epochs" if trains else "evaluation"
        else:
            self.record.kind = "training" if trains else "evaluation"

    def _goes_on(self, loop: Watched, frame: FrameType) -> bool:
        if not self.visit.is_on_card:
            # Somebody waits for all of what is prepared here.
            return True
        if self.visit.count in _COUNTED:
            lengths = (self.visit.total, self.leader.length(loop))
            self.visit.total = min((length for length in lengths if length is not None), default=None)
        is_own_end = self.visit.total is not None and self.leader.done(loop) >= self.visit.total
        if is_own_end or self.leader.is_on_its_way():
            return True
        if self.ending is None:
            self.ending = self.visit.verdict()
        if self.ending is None or self.leader.lead(loop, frame):
            return True
        return self.site.on_end is not None and self._ends_otherwise(frame)

    def _ends_otherwise(self, frame: FrameType) -> bool:
        """Lets a library end its loop with all that belongs to the end; whether there is another iteration."""
        if self.site.on_end is None:
            return False
        with frames.variables(frame) as variables:
            follows = self.site.on_end(variables)
        if follows == "more":
            # Other data, which may be of another size.
            self.ending = None
            self.visit.begin_again()
        return follows != "nothing"

    def close(self, reason: str, seen: int) -> None:
        """The visit is over."""
        self.walk.visits.discard(self.visit)
        if self.is_closed or not self.visit.samples:
            return
        self.is_closed = True
        self.record.close(self.visit, self.ending or reason, seen, self.leader.skipped)
        if not self.record.is_on_card:
            return
        if self.record.kind == "evaluation" and self.walk.records_graphs():
            self.walk.parts.append((self.record, self.walk.activity.backwards))
        if self.ending:
            self.walk.ended_early.append(self.record)
        self.walk.report(self.record.facts())

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
    code, at = frame.f_code.co_code, frame.f_lasti
    return 0 <= at < len(code) and dis.opname[code[at]].startswith(_LEAVING)
