"""Which batches are run in parts: those of loops, and of frameworks' steps, that a probe has understood."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from types import CodeType, FrameType, ModuleType
from typing import Any

from ..desk import Desk
from . import finding, probing, reading, splitting, trained
from .counting import Counting
from .parts import PartBody
from .probing import Finding, Seen
from .reading import NotUnderstood


@dataclass(frozen=True)
class Step:
    """What a framework does with one batch: forward and backward."""

    #: For sentences.
    name: str
    batch: Any
    #: Runs a part of the batch, given its number; what it returns is put together from the parts.
    run: Callable[[Any, int], dict[str, Any]]
    #: The modules whose state the step may change.
    roots: Sequence[Any]


@dataclass(frozen=True)
class Decision:
    """What is done with the batches of one loop or step."""

    #: For sentences.
    place: str
    #: How the whole comes from the parts; None where batches stay whole.
    finding: Finding | None = None
    #: What a loop runs for every part.
    body: PartBody | None = None
    #: Whether nobody has been told that batches stay whole: as far as is known this is not a training loop.
    is_silent: bool = False


class Decisions:
    """One for each loop and each framework's step, made when its first batch comes."""

    def __init__(self, torch: ModuleType, desk: Desk, parts: int, counting: Counting) -> None:
        self._torch = torch
        self._desk = desk
        self._parts = parts
        self._counting = counting
        #: By the loop or step, and what it trains: the same lines may train another model next, for which nothing was tried.
        self._made: dict[tuple[Any, ...], Decision] = {}
        self._told: set[tuple[str, str]] = set()
        self._probed: tuple[Seen, CodeType | None] | None = None

    @property
    def is_probing(self) -> bool:
        """Whether a few rows are run to be compared, and nothing else may come of it."""
        return self._probed is not None

    def of_loop(self, frame: FrameType, batch: Any, visit: dict[Any, Any]) -> Decision:
        """For the loop of a frame that has just got this batch. `visit` keeps what is looked up once for an iterator."""
        place = f"{os.path.basename(frame.f_code.co_filename)}:{frame.f_lineno}"
        loop = (frame.f_code, frame.f_lineno)
        key = visit.get(loop)
        if key is None:
            found = finding.loop_at(frame.f_code.co_filename, frame.f_lineno)
            key = visit[loop] = (*loop, trained.by_loop(self._torch, frame, found[0] if found else None))
        return self._once(key, f"The loop at {place}", lambda: self._decide_loop(frame, batch, place))

    def of_step(self, step: Step) -> Decision:
        """For a framework's step."""
        key = (step.name, trained.models(self._torch, step.roots))
        return self._once(key, step.name, lambda: self._decide_step(step))

    def keep_whole(self) -> None:
        """From now on all batches."""
        self._made = {key: Decision(decision.place) for key, decision in self._made.items()}

    def _once(self, key: tuple[Any, ...], place: str, decide: Callable[[], Decision]) -> Decision:
        if key not in self._made:
            self._made[key] = Decision(place)
            try:
                self._made[key] = decide()
            except NotUnderstood as why:
                self._desk.refuse(f"{place} keeps its batches whole: {why}.")
            except Exception as error:  # ours: the script must not end because of it
                self._desk.refuse(f"{place} keeps its batches whole: it could not be read ({error!r}).")
        return self._made[key]

    def _decide_loop(self, frame: FrameType, batch: Any, place: str) -> Decision:
        found = finding.loop_at(frame.f_code.co_filename, frame.f_lineno)
        if finding.is_in_library(frame) or found is None or not reading.has_backward(found[0]):
            return Decision(f"The loop at {place}", is_silent=True)
        loop, scope = found
        target = finding.target_of(loop, frame)
        if target is None:
            raise NotUnderstood("something between the loader and the loop makes other items of its batches")
        read = reading.read(loop, target, scope)
        body, alone = PartBody(read.statements, read, frame), PartBody(read.statements_alone, read, frame)
        result = self._probe(lambda part: alone.run(part, frame), alone.code, batch)
        if self._is_news(place, result):
            self._desk.applied(loop=place, parts=self._parts, weighting=result.weighting)
        return Decision(f"The loop at {place}", result, body)

    def _decide_step(self, step: Step) -> Decision:
        result = self._probe(lambda part: step.run(part, 0), None, step.batch, step.roots)
        if self._is_news(step.name, result):
            self._desk.applied(step=step.name, parts=self._parts, weighting=result.weighting)
        return Decision(step.name, result)

    def _is_news(self, place: str, result: Finding) -> bool:
        is_known = (place, result.weighting) in self._told
        self._told.add((place, result.weighting))
        return not is_known

    def _probe(
        self, run: Callable[[Any], dict[str, Any]], code: CodeType | None, batch: Any, roots: Sequence[Any] = ()
    ) -> Finding:
        """Runs a few rows together and apart; if there is a `code`, `backward()` must be called in it."""
        rows = splitting.rows_of(batch)
        if rows is None or rows.count < 2:
            raise NotUnderstood("its batches have no rows that could be told apart")
        one, other = splitting.unlike_rows(batch, rows)
        more = [number for number in range(rows.count) if number not in (one, other)][:1]
        groups = {"whole": [one, *more, other], "first": [one, *more], "second": [other]}
        batches = {name: (splitting.pick(batch, rows, group), len(group)) for name, group in groups.items()}

        def run_one(part: Any, seen: Seen) -> None:
            self._probed = (seen, code)
            try:
                seen.results = run(part)
            except NotUnderstood:
                raise
            except Exception as error:  # whatever the script's statements may do with fewer rows than they expect
                raise NotUnderstood(f"what it does fails with a few rows ({type(error).__name__}: {error})") from error
            finally:
                self._probed = None

        return probing.probe(self._torch, self._counting, run_one, batches, roots)

    def note_loss(self, loss: Any, frame: FrameType | None) -> None:
        """A probe calls `backward()`."""
        assert self._probed is not None
        seen, code = self._probed
        while frame is not None and finding.is_in_library(frame):
            frame = frame.f_back
        if code is not None and (frame is None or frame.f_code is not code):
            raise NotUnderstood("it calls backward() inside a function")
        seen.losses.append(loss)
