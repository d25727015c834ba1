"""Decides after each iteration of a loop whether another one would show anything new. Pure: numbers in, a word out.

Memory is what counts: an iteration that ends with as many live bytes as the one before, and allocated as much in as
many blocks, will be followed by more of the same. What differs from iteration to iteration is looked at longer, what
grows until it is sure, and what is cheap is run as it is.
"""

from __future__ import annotations

import statistics
from collections.abc import Callable
from dataclasses import dataclass, field

#: Iterations of a loop over data that are always run, where the loop has not been seen before and where it has.
LEAST = 3
LEAST_AGAIN = 2
#: Iterations of a loop around such loops (epochs): at least, at most without a trend, and at most with one.
LEAST_AROUND = 2
MOST_AROUND = 4
MOST_AROUND_GROWING = 6
#: A loop with as few iterations is run to its end.
SHORT = 8
#: Batches of different sizes never repeat: by then a trend would show.
RAGGED = 8
#: By then growth is certain; and where it comes and goes, by then.
SURE = 12
AT_LONGEST = 24
#: A loop that grows by design (an unrolled recurrence, results to be concatenated) is run to its end up to this length.
MODERATE = 64
#: Micro-batches that one optimizer step may have.
MOST_MICRO_BATCHES = 72
#: Iterations that are remembered one by one.
REMEMBERED = 2 * MOST_MICRO_BATCHES
#: Periods of iterations that are recognized.
MOST_PERIOD = 8
#: A search (for a batch size) at least changes by this factor each time.
SEARCH_FACTOR = 1.2
#: Growth on the host: the iterations that show it, bytes from which it is more than Python's own coming and going, and
#: how much larger one rise may be than another.
HOST_LIVES = 8
HOST_GROWTH_BYTES_MIN = 16 << 10
HOST_UNEVENNESS = 3
#: What is resident has risen where it lies above all before by more than this part.
HEAP_RISE = 1 / 200


@dataclass(frozen=True)
class Sample:
    """One iteration, taken at its end."""

    #: Live bytes at the end, of all cards together.
    live_bytes: int
    #: Bytes and blocks allocated in it; None where its beginning was not seen.
    allocated_bytes: int | None = None
    allocations: int | None = None
    steps: int = 0
    backwards: int = 0
    #: Calls of modules in training mode whose graph autograd recorded.
    training_calls: int = 0
    #: Steps and backward passes outside any inner loop that drives the job.
    own_steps: int = 0
    own_backwards: int = 0
    #: Calls of modules outside any inner loop.
    own_calls: int = 0
    #: Refused requests.
    shortages: int = 0
    #: Whether inner loops drove the job, and whether they showed iterations that had not been seen before.
    has_inner: bool = False
    is_new_inside: bool = False
    seconds: float = 0.0
    #: On the host, at the end: live bytes, those of tensors among them, and resident ones where they are known.
    host_bytes: int = 0
    host_tensor_bytes: int = 0
    resident_bytes: int = 0

    @property
    def size(self) -> tuple[int | None, int | None]:
        """What it allocated, however much was live."""
        return self.allocated_bytes, self.allocations


@dataclass
class History:
    """What earlier visits of the same loop have shown."""

    #: Sizes of iterations seen.
    sizes: set[tuple[int | None, int | None]] = field(default_factory=set)
    visits: int = 0
    #: Whether its iterations never repeat, and whether live memory rose in them.
    is_ragged: bool = False
    is_growing: bool = False
    #: Whether it ran backward passes, and whether it ever took optimizer steps.
    has_backwards: bool = False
    has_steps: bool = False


class Budget:
    """Time that may go into iterations that are run only because they are cheap."""

    #: Seconds from the start, and the part of the time so far that is added to them.
    BASE_SECONDS = 2.0
    SHARE = 0.2
    #: Seconds for which even a short loop or one that grows by design is not run to its end.
    PATIENCE_SECONDS = 20.0
    #: Seconds for which loops of a job without a card are run on although their tensors repeat; and the part of them for loops
    #: whose length nobody knows, and whose workers may still be filling their buffers.
    HEAP_SECONDS = 60.0
    HEAP_SHARE_UNKNOWN = 0.25
    #: Seconds for which loops are run on because the code after them needs all iterations.
    WHOLE_SECONDS = 60.0

    def __init__(self, clock: Callable[[], float]) -> None:
        self.clock = clock
        self.start = clock()
        self.spent = 0.0
        #: Iterations up to which a loop that grows is run to its end where that takes no longer than patience lasts.
        self.moderate = MODERATE
        #: What is left of the time for loops whose heap is followed; none where what is resident is no matter.
        self.heap_seconds_left = 0.0
        self.whole_seconds_left = self.WHOLE_SECONDS

    def allows(self, seconds: float, share: float = 1.0) -> bool:
        """Whether so much more may be spent; `share` of all there is for what matters less."""
        limit = self.BASE_SECONDS + self.SHARE * (self.clock() - self.start)
        return self.spent + seconds <= share * limit


@dataclass(eq=False)
class Visit:
    """One run of a loop from its first iteration on."""

    history: History
    budget: Budget
    #: Iterations the loop would have by itself; None where nobody knows.
    total: int | None = None
    #: Whether it allocates only: no module is called, nothing is trained.
    only_allocates: bool = False
    #: Whether the body puts results aside.
    collects: bool = False
    #: Whether it goes through a collection (models, folds, names), every item of which somebody chose.
    is_over_collection: bool = False
    #: Whether there is an optimizer that could step.
    has_optimizer: bool = True
    #: Whether the code after it needs all of its iterations: the script failed when it was ended early.
    is_needed_whole: bool = False
    #: The latest iterations, and how many there were in all.
    samples: list[Sample] = field(default_factory=list)
    count: int = 0
    #: What any of them did: run backward passes, steps (and which was the first to), steps or backward passes outside
    #: inner loops, inner loops, something that concerns a card.
    has_backwards: bool = False
    first_step: int | None = None
    has_own: bool = False
    has_inner: bool = False
    #: Whether they allocate on a card, or train. Transforms of data may be modules, too.
    is_on_card: bool = False
    #: Whether each of them took one optimizer step, and whether each called a module outside inner loops.
    is_step_each: bool = True
    is_call_each: bool = True
    #: The most that was resident at the end of an iteration, and the iteration at which that last rose.
    most_resident_bytes: int = 0
    heap_rose_at: int = 0

    def __post_init__(self) -> None:
        #: Sizes that were known when this visit began.
        self.known_sizes = set(self.history.sizes)

    def begin_again(self) -> None:
        """Other data follows: what was seen does not speak for it."""
        self.samples, self.count = [], 0

    def add(self, sample: Sample) -> bool:
        """Takes the next sample; returns whether it is unlike everything seen so far."""
        self.count += 1
        self.samples.append(sample)
        del self.samples[:-REMEMBERED]
        self.has_backwards |= sample.backwards > 0
        if sample.steps and self.first_step is None:
            self.first_step = self.count
        self.has_own |= bool(sample.own_steps or sample.own_backwards)
        self.has_inner |= sample.has_inner
        self.is_on_card |= bool(sample.allocations or sample.steps or sample.backwards)
        self.is_step_each &= sample.steps == 1
        self.is_call_each &= sample.own_calls > 0
        if sample.resident_bytes > self.most_resident_bytes * (1 + HEAP_RISE):
            self.most_resident_bytes, self.heap_rose_at = sample.resident_bytes, self.count
        self.history.has_backwards |= sample.backwards > 0
        self.history.has_steps |= sample.steps > 0
        if sample.allocated_bytes is None:
            return False
        is_new = sample.size not in self.history.sizes
        self.history.sizes.add(sample.size)
        return is_new and not self.history.is_ragged

    @property
    def is_around(self) -> bool:
        """Whether inner loops do the work: epochs, folds, configurations.

        Where an iteration takes one optimizer step, or evaluates something itself, inner loops go through its
        micro-batches, time steps or layers.
        """
        trains = self.has_backwards or self.first_step is not None
        is_one = self.is_step_each if trains else self.is_call_each
        return self.has_inner and not self.has_own and not is_one

    @property
    def lives(self) -> list[int]:
        """Live bytes at the ends of the iterations."""
        return [sample.live_bytes for sample in self.samples]

    def remaining_seconds(self) -> float:
        """What the rest would take, if its length is known."""
        if self.total is None:
            return float("inf")
        # Where the beginning of the first iteration was missed, nobody knows what it took.
        recent = [sample.seconds for sample in self.samples[-4:] if sample.seconds]
        return max(0, self.total - self.count) * statistics.fmean(recent or [0.0])

    def verdict(self) -> str | None:
        """Why the loop may end here (`repeats`, `no_trend`, `growth`), or None to go on."""
        if not self.samples or self.samples[-1].shortages:
            # Whoever catches an out-of-memory error tries something else.
            return None
        reason = self._verdict_around() if self.is_around else self._verdict_alone()
        if reason == "no_trend":
            self.history.is_ragged = True
        return None if reason is not None and (self._is_run_whole() or self._follows_heap()) else reason

    def _is_run_whole(self) -> bool:
        """Whether it is run on for the code after it: not where its end is known to be too far away."""
        budget, seconds = self.budget, self.samples[-1].seconds
        rest_seconds = seconds if self.total is None else self.remaining_seconds()
        if not self.is_needed_whole or rest_seconds > budget.whole_seconds_left:
            return False
        if not self.is_around:
            # The iterations of a loop around others are theirs.
            budget.whole_seconds_left -= seconds
        return True

    def _follows_heap(self) -> bool:
        """Whether it is run on for what the C library makes of it.

        Blocks that come and go leave holes between those that stay, other ones in every iteration: the same tensors take more
        of the machine after a hundred iterations than after three. So the loop is run to its end where there is time for that,
        else for as long as what is resident has risen in the later half of it. Nobody sees the end of a stream: of that some
        seconds are run.
        """
        budget = self.budget
        left, seconds = budget.heap_seconds_left, self.samples[-1].seconds
        if self.remaining_seconds() > left:
            is_growing = self.host_growth_bytes_per_iteration() > 0
            is_rising = self.count < 2 * self.heap_rose_at
            is_begun = self.total is None and left > (1 - budget.HEAP_SHARE_UNKNOWN) * budget.HEAP_SECONDS
            if seconds > left or is_growing or not (is_rising or is_begun):
                return False
        if not self.is_around:
            # The iterations of a loop around others are theirs.
            budget.heap_seconds_left -= seconds
        return left > 0

    def growth_bytes_per_iteration(self) -> int:
        """By how much live memory rises with every iteration; 0 where it does not."""
        lives = self.lives
        at_first = LEAST_AROUND if self.is_around else LEAST
        if len(lives) <= at_first + 1 or not is_rising(lives[1:]):
            return 0
        half = max(2, len(lives) // 2)
        return max(0, round((lives[-1] - lives[-half]) / (half - 1)))

    def host_growth_bytes_per_iteration(self) -> int:
        """By how much live memory on the host rises with every iteration; 0 where it does not do so evenly."""
        samples = self._latest()
        rate = even_rise([sample.host_bytes for sample in samples])
        # What is kept lies among what was given back, whose pages stay.
        resident_rate = (samples[-1].resident_bytes - samples[0].resident_bytes) // max(len(samples) - 1, 1)
        return min(max(rate, resident_rate), HOST_UNEVENNESS * rate)

    def host_tensor_growth_bytes_per_iteration(self) -> int:
        """The same of tensors on the host."""
        return even_rise([sample.host_tensor_bytes for sample in self._latest()])

    def _latest(self) -> list[Sample]:
        # The first iteration is like no other.
        start = 1 if len(self.samples) > 3 else 0
        return self.samples[start:][-HOST_LIVES:]

    def _verdict_around(self) -> str | None:
        count, lives = self.count, self.lives
        last = self.samples[-1]
        if count < LEAST_AROUND:
            return None
        if self.is_over_collection and self.total is not None and self.total <= SHORT and self._is_bearable(0.5):
            return None
        if last.live_bytes == lives[-2] and not last.is_new_inside:
            return "repeats"
        if count > 2 and is_rising(lives[1:]):
            return "growth" if count >= MOST_AROUND_GROWING else None
        if count < MOST_AROUND:
            return None
        if last.is_new_inside and self._is_cheap():
            return None
        return "no_trend"

    def _verdict_alone(self) -> str | None:
        count = self.count
        if self.only_allocates and (self._is_bearable(0.25) or self._goes_on_cheaply(1.0)):
            # A loop over parameters: every one of them counts.
            return None
        if self.total is not None and self.total <= SHORT and self._is_bearable():
            return None
        if count < (LEAST_AGAIN if self._is_known() else LEAST) or self._awaits_step() or self._searches():
            return None
        if is_rising(self.lives[1:]):
            return self._verdict_on_growth()
        if is_falling(self.lives[1:]) and count < SURE:
            return None
        if self._may_feed_backward() and self.total is not None and self.total <= MODERATE and self._is_bearable():
            return None
        if self._repeats():
            # What it puts aside may decide how much the code behind it needs.
            has_results = self.collects and not self.has_backwards
            return None if has_results and self._goes_on_cheaply(0.25) else "repeats"
        return "no_trend" if count >= RAGGED or self.history.is_ragged else None

    def _verdict_on_growth(self) -> str | None:
        count, tail = self.count, self.lives[1:]
        self.history.is_growing = True
        if self.total is not None and self.total <= self.budget.moderate and self._is_bearable():
            return None
        if count < SURE or self._is_cheap():
            return None
        moves = [after - before for before, after in zip(tail, tail[1:])]
        if min(moves) >= 0 and sum(move > 0 for move in moves) * 2 >= len(moves):
            return "growth"
        if count < AT_LONGEST:
            return None
        return "growth" if is_rising(tail) else "no_trend"

    def _is_known(self) -> bool:
        """Whether the last iterations are like those of earlier visits."""
        if not self.history.visits or self.history.is_growing or is_rising(self.lives[-LEAST_AGAIN:]):
            return False
        if self.history.is_ragged:
            return True
        latest = [sample.size for sample in self.samples[-LEAST_AGAIN:]]
        return len(latest) == LEAST_AGAIN and all(size in self.known_sizes for size in latest)

    def _awaits_step(self) -> bool:
        """Whether this accumulates gradients and the optimizer has not been seen twice."""
        if not self.has_backwards:
            return False
        if self.first_step is None:
            gave_up = self.history.visits > 0 and not self.history.has_steps
            return self.has_optimizer and not gave_up and self.count < MOST_MICRO_BATCHES
        has_stepped_again = any(sample.steps for sample in self.samples[self.first_step :])
        return not has_stepped_again and self.count <= 2 * self.first_step

    def _may_feed_backward(self) -> bool:
        """Whether it goes through the layers or time steps of one training step: without them the script fails."""
        # Of the first iteration the beginning may have been missed.
        is_training = all(sample.training_calls for sample in self.samples[1:])
        return is_training and self.has_optimizer and not self.has_backwards

    def _searches(self) -> bool:
        """Whether every iteration tries something much larger or much smaller than the one before."""
        sizes = [sample.allocated_bytes or 0 for sample in self.samples[-LEAST:]]
        if len(sizes) < LEAST or self.count > MODERATE:
            return False
        pairs = list(zip(sizes, sizes[1:]))
        grows = all(after > SEARCH_FACTOR * before > 0 for before, after in pairs)
        shrinks = all(before > SEARCH_FACTOR * after > 0 for before, after in pairs)
        return grows or shrinks

    def _repeats(self) -> bool:
        stepping = [sample for sample in self.samples if sample.steps]
        if stepping and 2 * len(stepping) <= len(self.samples):
            # Gradients are accumulated: the iterations that step are the ones to compare.
            return len(stepping) > 1 and stepping[-1].live_bytes == stepping[-2].live_bytes
        signatures = [(sample.live_bytes, *sample.size) for sample in self.samples]
        has_grown = any(after > before for before, after in zip(self.lives[1:], self.lives[2:]))
        for period in range(1, MOST_PERIOD + 1):
            times = 3 if has_grown and period == 1 else 2
            # The first iteration is like no other.
            if len(signatures) < times * period + (period > 1):
                break
            latest = [signatures[len(signatures) - (part + 1) * period :][:period] for part in range(times)]
            if all(part == latest[0] for part in latest):
                return True
        return False

    def _is_cheap(self) -> bool:
        """Whether the rest of it can be run as it is; if so, what the last iteration took is accounted for."""
        if not self.budget.allows(self.remaining_seconds()):
            return False
        self.budget.spent += self.samples[-1].seconds
        return True

    def _is_bearable(self, share: float = 1.0) -> bool:
        return self.remaining_seconds() <= share * self.budget.PATIENCE_SECONDS

    def _goes_on_cheaply(self, share: float) -> bool:
        """Like `_is_cheap`, also for loops whose length nobody knows."""
        seconds = self.samples[-1].seconds
        if not self.budget.allows(seconds if self.total is None else self.remaining_seconds(), share):
            return False
        self.budget.spent += seconds
        return True


def even_rise(lives: list[int]) -> int:
    """By how much memory on the host rises from each to the next; 0 where it does not do so evenly."""
    rises = [after - before for before, after in zip(lives, lives[1:])]
    if len(rises) < 2 or min(rises) < HOST_GROWTH_BYTES_MIN or max(rises) > HOST_UNEVENNESS * min(rises):
        return 0
    return round(statistics.fmean(rises))


def is_rising(lives: list[int]) -> bool:
    """Whether live memory goes up: never down of late, or all of it higher in the later half."""
    latest = lives[-5:]
    if len(latest) > 1 and latest[-1] > latest[0] and all(a <= b for a, b in zip(latest, latest[1:])):
        return latest[-1] > latest[-3] if len(latest) > 2 else True
    half = len(lives) // 2
    return half >= 3 and min(lives[-half:]) > max(lives[:half])


def is_falling(lives: list[int]) -> bool:
    """Whether live memory goes down."""
    return is_rising([-live for live in lives])
