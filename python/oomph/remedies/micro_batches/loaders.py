"""Stands between loaders and the loops that take their batches, and around `backward()`."""

from __future__ import annotations

import functools
import os
import sys
import threading
import weakref
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from types import CodeType, FrameType, ModuleType
from typing import Any

from ..desk import Desk
from . import finding, probing, reading, splitting
from .counting import Counting
from .parts import PartBody
from .probing import Finding, Seen
from .reading import NotUnderstood
from .ties import Ties
from .windows import LoopWindow, Window


#: Marks a function of a loader's class that has been replaced.
_MARK = "_oomph_in_parts"


@dataclass(frozen=True)
class Decision:
    """What is done with the batches of one loop."""

    #: The place, for sentences.
    place: str
    #: None where batches stay whole.
    body: PartBody | None = None
    finding: Finding | None = None
    #: Why nobody has been told yet that batches stay whole: as far as is known this is not a training loop.
    is_silent: bool = False


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


class Loaders:
    """All loaders of this process."""

    def __init__(self, torch: ModuleType, desk: Desk, parts: int, counting: Counting) -> None:
        self._torch = torch
        self._desk = desk
        self._parts = parts
        self._counting = counting
        self._decisions: dict[tuple[Any, int], Decision] = {}
        self._window: Window | None = None
        #: The loop that took the last batch, if batches stay whole there.
        self._latest: Decision | None = None
        self._probed: tuple[Seen, CodeType | None] | None = None
        self._inside_backward = False
        self._inside_loader = False
        self._main = threading.get_ident()
        #: Inside the step of a framework, which says itself why its batches stay whole.
        self._inside_step = False
        self._optimizers: weakref.WeakSet[Any] = weakref.WeakSet()
        self._replicas: weakref.WeakSet[Any] = weakref.WeakSet()
        self._ties = Ties(torch, self._optimizers, self._replicas)
        self._ties.disagree = self._on_disagreement

    def install(self) -> None:
        """From now on."""
        torch = self._torch
        loader = torch.utils.data.DataLoader
        self.watch(loader)
        watch = self.watch

        def __init_subclass__(cls: Any, **kwargs: Any) -> None:
            super(loader, cls).__init_subclass__(**kwargs)
            watch(cls)

        loader.__init_subclass__ = classmethod(__init_subclass__)
        _remember(torch.optim.Optimizer, self._optimizers)
        _remember(torch.nn.parallel.DistributedDataParallel, self._replicas)
        torch.autograd.backward = self._around_backward(torch.autograd.backward)

    def watch(self, kind: Any) -> None:
        """Stands between the loaders of a class and who iterates over them."""
        if not getattr(kind.__iter__, _MARK, False):
            kind.__iter__ = self._around_iter(kind.__iter__)

    def _around_iter(self, original: Callable[[Any], Iterator[Any]]) -> Callable[[Any], Iterator[Any]]:
        @functools.wraps(original)
        def __iter__(loader: Any) -> Iterator[Any]:
            if self._inside_loader or threading.get_ident() != self._main:
                return original(loader)
            return _Batches(self, original(loader))

        setattr(__iter__, _MARK, True)
        return __iter__

    def next_of(self, source: Iterator[Any], frame: FrameType | None) -> Any:
        """The next batch for the loop, or its first part."""
        self._close_window()
        self._inside_loader = True
        try:
            batch = next(source)
        finally:
            self._inside_loader = False
        frame = finding.loop_frame(frame)
        decision = self._latest = self._decision(frame, batch)
        rows = splitting.rows_of(batch) if decision.body is not None else None
        if frame is None or decision.body is None or decision.finding is None or rows is None or rows.count < 2:
            return batch
        sizes = splitting.sizes_of_parts(rows.count, self._parts)
        parts = splitting.split(batch, rows, sizes)
        self._window = LoopWindow(
            frame, decision.body, decision.finding, (parts, sizes), self._ties, self._counting
        )
        return parts[0]

    @property
    def is_probing(self) -> bool:
        """Whether a few rows are run to be compared, and nothing else may come of it."""
        return self._probed is not None

    def in_parts(self, step: Step) -> dict[str, Any]:
        """Runs a framework's step, which calls `backward()` itself, for every part of its batch."""
        batch, is_outermost = step.batch, not self._inside_step
        self._inside_step = True
        try:
            decision = self._decision_for_step(step) if is_outermost else Decision("")
            rows = splitting.rows_of(batch) if decision.finding is not None else None
            if decision.finding is None or rows is None or rows.count < 2:
                return step.run(batch, 0)
            sizes = splitting.sizes_of_parts(rows.count, self._parts)
            window = self._window = Window(decision.finding, sizes, self._ties, self._counting)
            results = []
            for number, part in enumerate(splitting.split(batch, rows, sizes)):
                window.begin(number)
                results.append(step.run(part, number))
            return {**results[0], **window.whole(decision.finding.rules, results)}
        finally:
            self._close_window()
            self._inside_step = not is_outermost

    def _decision_for_step(self, step: Step) -> Decision:
        key = (step.name, 0)
        if key not in self._decisions:
            try:
                rows = splitting.rows_of(step.batch)
                if rows is None or rows.count < 2:
                    raise NotUnderstood("batches have no rows that could be told apart")
                result = self._probe(lambda part: step.run(part, 0), None, step.batch, rows, step.roots)
                self._desk.applied(step=step.name, parts=min(self._parts, rows.count), weighting=result.weighting)
                self._decisions[key] = Decision(step.name, None, result)
            except NotUnderstood as why:
                self._desk.refuse(f"{step.name} keeps its batches whole: {why}.")
                self._decisions[key] = Decision(step.name)
        return self._decisions[key]

    def _close_window(self) -> None:
        if self._window is not None:
            self._window.close()
            self._window = None

    def _decision(self, frame: FrameType | None, batch: Any) -> Decision:
        if frame is None:
            return Decision("a loop", is_silent=True)
        key = (frame.f_code, frame.f_lineno)
        if key not in self._decisions:
            place = f"{os.path.basename(frame.f_code.co_filename)}:{frame.f_lineno}"
            try:
                self._decisions[key] = self._decide(frame, batch, place)
            except NotUnderstood as why:
                self._desk.refuse(f"The loop at {place} keeps its batches whole: {why}.")
                self._decisions[key] = Decision(place)
            except Exception as error:  # ours: the script must not end because of it
                self._desk.refuse(f"The loop at {place} keeps its batches whole: it could not be read ({error!r}).")
                self._decisions[key] = Decision(place)
        return self._decisions[key]

    def _decide(self, frame: FrameType, batch: Any, place: str) -> Decision:
        found = finding.loop_at(frame.f_code.co_filename, frame.f_lineno)
        if finding.is_in_library(frame) or found is None or not reading.has_backward(found[0]):
            return Decision(place, is_silent=True)
        loop, scope = found
        target = finding.target_of(loop, frame)
        if target is None:
            raise NotUnderstood("something between the loader and the loop makes other items of its batches")
        read = reading.read(loop, target, scope)
        rows = splitting.rows_of(batch)
        if rows is None or rows.count < 2:
            raise NotUnderstood("its batches have no rows that could be told apart")
        body = PartBody(read.statements, read, frame)
        alone = PartBody(read.statements_alone, read, frame)
        result = self._probe(lambda part: alone.run(part, frame), alone.code, batch, rows)
        self._desk.applied(loop=place, parts=min(self._parts, rows.count), rows=rows.count, weighting=result.weighting)
        return Decision(place, body, result)

    def _probe(
        self,
        run: Callable[[Any], dict[str, Any]],
        code: CodeType | None,
        batch: Any,
        rows: splitting.Rows,
        roots: Sequence[Any] = (),
    ) -> Finding:
        """Runs a few rows together and apart; if there is a `code`, `backward()` must be called in it."""
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

    def _around_backward(self, original: Callable[..., None]) -> Callable[..., None]:
        @functools.wraps(original)
        def backward(tensors: Any, grad_tensors: Any = None, *args: Any, **kwargs: Any) -> None:
            if self._inside_backward or threading.get_ident() != self._main:
                return original(tensors, grad_tensors, *args, **kwargs)
            if self._probed is not None:
                return self._note_loss(tensors, sys._getframe(1))
            window = self._window
            if window is None or not window.is_called_from(sys._getframe(1)):
                self._on_other_backward()
                return original(tensors, grad_tensors, *args, **kwargs)

            def run(weight: float) -> None:
                self._inside_backward = True
                try:
                    original(tensors, self._seeded(tensors, grad_tensors, weight), *args, **kwargs)
                finally:
                    self._inside_backward = False

            window.backward(run)
            return None

        return backward

    def _seeded(self, tensor: Any, gradient: Any, weight: float) -> Any:
        if gradient is None:
            return self._torch.full_like(tensor, weight)
        return gradient * weight

    def _note_loss(self, tensors: Any, frame: FrameType | None) -> None:
        assert self._probed is not None
        seen, code = self._probed
        while frame is not None and finding.is_in_library(frame):
            frame = frame.f_back
        if code is not None and (frame is None or frame.f_code is not code):
            raise NotUnderstood("it calls backward() inside a function")
        seen.losses.append(tensors)

    def _on_other_backward(self) -> None:
        latest = self._latest
        if self._inside_step:
            return
        if latest is not None and latest.is_silent:
            self._desk.refuse(
                f"The loop at {latest.place} keeps its batches whole: its backward() is in another function, "
                "so that it is not known what of the loop runs for every part."
            )
        elif latest is None:
            self._desk.refuse("Batches that do not come from a DataLoader stay whole.")

    def _on_disagreement(self) -> None:
        self._desk.note(
            "The loss of one batch was computed by other functions than that of the first, so that its parts were "
            "weighted by rows; later batches stay whole."
        )
        self._decisions = {key: Decision(decision.place) for key, decision in self._decisions.items()}


class _Batches:
    """The iterator of a loader, as the loop sees it."""

    def __init__(self, loaders: Loaders, source: Iterator[Any]) -> None:
        self._loaders = loaders
        self._source = source

    def __iter__(self) -> Iterator[Any]:
        return self

    def __next__(self) -> Any:
        return self._loaders.next_of(self._source, sys._getframe(1))

    def __len__(self) -> int:
        return len(self._source)  # type: ignore[arg-type]

    def __getattr__(self, name: str) -> Any:
        return getattr(self._source, name)


def _remember(kind: Any, known: weakref.WeakSet[Any]) -> None:
    original = kind.__init__

    @functools.wraps(original)
    def __init__(self: Any, *args: Any, **kwargs: Any) -> None:
        original(self, *args, **kwargs)
        known.add(self)

    kind.__init__ = __init__
