"""Stands between loaders and the loops that take their batches, and around `backward()`."""

from __future__ import annotations

import functools
import sys
import threading
import weakref
from collections.abc import Callable, Iterator
from types import FrameType, ModuleType
from typing import Any

from ..desk import Desk
from . import finding, splitting
from .counting import Counting
from .deciding import Decision, Decisions, Step
from .ties import Ties
from .windows import LoopWindow, Window

#: Marks a function of a loader's class that has been replaced.
_MARK = "_oomph_in_parts"


class Loaders:
    """All loaders of this process."""

    def __init__(self, torch: ModuleType, desk: Desk, parts: int, counting: Counting) -> None:
        self._torch = torch
        self._desk = desk
        self._parts = parts
        self._counting = counting
        self._decisions = Decisions(torch, desk, parts, counting)
        self._window: Window | None = None
        #: The loop that took the last batch.
        self._latest: Decision | None = None
        self._inside_backward = False
        self._inside_loader = False
        #: Inside the step of a framework, which says itself why its batches stay whole.
        self._inside_step = False
        self._main = threading.get_ident()
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
        original = kind.__iter__
        if getattr(original, _MARK, False):
            return

        @functools.wraps(original)
        def __iter__(loader: Any) -> Iterator[Any]:
            if self._inside_loader or threading.get_ident() != self._main:
                return original(loader)
            return _Batches(self, original(loader))

        setattr(__iter__, _MARK, True)
        kind.__iter__ = __iter__

    @property
    def is_probing(self) -> bool:
        """Whether a few rows are run to be compared, and nothing else may come of it."""
        return self._decisions.is_probing

    def _take(self, source: Iterator[Any]) -> Any:
        """The next batch as the loader has it; loaders within it are let alone."""
        self._close_window()
        self._inside_loader = True
        try:
            return next(source)
        finally:
            self._inside_loader = False

    def next_of(self, source: Iterator[Any], frame: FrameType | None, visit: dict[Any, Any]) -> Any:
        """The next batch for the loop, or its first part. `visit` goes with the iterator."""
        batch = self._take(source)
        frame = finding.loop_frame(frame)
        if frame is None:
            return batch
        decision = self._latest = self._decisions.of_loop(frame, batch, visit)
        rows = splitting.rows_of(batch) if decision.body is not None else None
        if decision.body is None or decision.finding is None or rows is None or rows.count < 2:
            return batch
        sizes = splitting.sizes_of_parts(rows.count, self._parts)
        parts = splitting.split(batch, rows, sizes)
        self._window = LoopWindow(frame, decision.body, decision.finding, (parts, sizes), self._ties, self._counting)
        return parts[0]

    def in_parts(self, step: Step) -> dict[str, Any]:
        """Runs a framework's step, which calls `backward()` itself, for every part of its batch."""
        if self._inside_step:
            return step.run(step.batch, 0)
        self._inside_step = True
        try:
            finding_of_step = self._decisions.of_step(step).finding
            rows = splitting.rows_of(step.batch)
            if finding_of_step is None or rows is None or rows.count < 2:
                return step.run(step.batch, 0)
            sizes = splitting.sizes_of_parts(rows.count, self._parts)
            window = self._window = Window(finding_of_step, sizes, self._ties, self._counting)
            results = []
            for number, part in enumerate(splitting.split(step.batch, rows, sizes)):
                window.begin(number)
                results.append(step.run(part, number))
            return {**results[0], **window.whole(finding_of_step.rules, results)}
        finally:
            self._close_window()
            self._inside_step = False

    def _close_window(self) -> None:
        if self._window is not None:
            self._window.close()
            self._window = None

    def _around_backward(self, original: Callable[..., None]) -> Callable[..., None]:
        @functools.wraps(original)
        def backward(tensors: Any, grad_tensors: Any = None, *args: Any, **kwargs: Any) -> None:
            if self._inside_backward or threading.get_ident() != self._main:
                return original(tensors, grad_tensors, *args, **kwargs)
            if self.is_probing:
                return self._decisions.note_loss(tensors, sys._getframe(1))
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

            return window.backward(run)

        return backward

    def _seeded(self, tensor: Any, gradient: Any, weight: float) -> Any:
        """The weight goes in here and not into the loss: what the script logs stays the true one."""
        return self._torch.full_like(tensor, weight) if gradient is None else gradient * weight

    def _on_other_backward(self) -> None:
        if self._inside_step or self._window is not None:
            return
        if self._latest is None:
            self._desk.refuse("Batches that do not come from a DataLoader stay whole.")
        elif self._latest.is_silent:
            self._desk.refuse(
                f"{self._latest.place} keeps its batches whole: its backward() is in another function, "
                "so that it is not known what of the loop runs for every part."
            )

    def _on_disagreement(self) -> None:
        self._desk.note(
            "The loss of one batch was computed by other functions than that of the first, so that its parts were "
            "weighted by rows; later batches stay whole."
        )
        self._decisions.keep_whole()


class _Batches:
    """The iterator of a loader, as the loop sees it."""

    def __init__(self, loaders: Loaders, source: Iterator[Any]) -> None:
        self._loaders = loaders
        self._source = source
        self._visit: dict[Any, Any] = {}

    def __iter__(self) -> Iterator[Any]:
        return self

    def __next__(self) -> Any:
        return self._loaders.next_of(self._source, sys._getframe(1), self._visit)

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
