"""Batches of a loop, divided over processes: each computes the gradient of its rows, weighted as its rows count.

The loop is read, and a few rows are run together and apart, as for `micro_batches`: there the parts of a batch run one
after the other, here each process runs one. What is not understood stays whole, in every process: the gradients are the
same everywhere then, and so is their mean.
"""

from __future__ import annotations

import copy
import functools
import os
from collections.abc import Callable, Iterator
from types import FrameType, ModuleType
from typing import Any

from ..desk import Desk
from ..micro_batches import combining, finding, probing, splitting
from ..micro_batches.counting import Counting
from ..micro_batches.loaders import Loaders
from ..micro_batches.parts import PartBody
from ..micro_batches.probing import Finding, Seen
from ..models import tensors_in
from .ranks import NotForSeveralCards, Ranks

#: Of each tensor of a batch so many values are compared with those of the other processes.
_COMPARED_VALUES = 1024
#: For so many backward passes of batches that stay whole the losses are compared.
_COMPARED_LOSSES = 3
_TOLERANCE = 1e-3


class DividedLoaders(Loaders):
    """All loaders of this process."""

    def __init__(self, torch: ModuleType, desk: Desk, ranks: Ranks) -> None:
        counting = Counting()
        counting.knows_values = ranks.are_real
        counting.install(torch)
        super().__init__(torch, desk, ranks.count, counting)
        self._ranks = ranks
        self._owner = os.getpid()
        self._compared = 0
        self._draws_apart = False
        #: Whether there is a model whose gradients are averaged.
        self.is_training_divided = False

    def watch(self, kind: Any) -> None:
        """Has all processes take samples in the same order."""
        original = kind.__iter__

        @functools.wraps(original)
        def __iter__(loader: Any) -> Iterator[Any]:
            if self.is_training_divided and not self._inside_loader and os.getpid() == self._owner:
                self._ranks.draw_alike()
            return original(loader)  # type: ignore[no-any-return]

        kind.__iter__ = __iter__
        super().watch(kind)

    def next_of(self, source: Iterator[Any], frame: FrameType | None, visit: dict[Any, Any]) -> Any:
        """The rows of the next batch that are this process's."""
        batch = self._take(source)
        frame = finding.loop_frame(frame)
        if frame is None or not self.is_training_divided:
            return batch
        self._check_alike(batch)
        decision = self._latest = self._decisions.of_loop(frame, batch, visit)
        rows = splitting.rows_of(batch) if decision.body is not None else None
        ranks = self._ranks
        if decision.body is None or decision.finding is None or rows is None or rows.count < ranks.count:
            return batch
        sizes = splitting.sizes_of_parts(rows.count, ranks.count)
        window: Any = DividedBatch(frame, decision.body, decision.finding, sizes, ranks, self._counting)
        self._window = window
        if not self._draws_apart:
            self._draws_apart = True
            ranks.draw_apart_on_cards()
        return splitting.split(batch, rows, sizes)[ranks.rank]

    def _check_alike(self, batch: Any) -> None:
        """Processes that train on different batches would train something else than the script says."""
        found = []
        for tensor in tensors_in(batch):
            values = tensor.detach().reshape(-1)
            some = values[:: max(1, values.numel() // _COMPARED_VALUES)][:_COMPARED_VALUES]
            found += [float(values.numel()), float(some.abs().double().sum()) if self._ranks.are_real else 0.0]
        totals = [float(len(found)), sum(found), sum(value * number for number, value in enumerate(found))]
        if any(each != totals and each == each for each in self._ranks.gathered(totals)):
            raise NotForSeveralCards(
                "oomph: fsdp: The processes got different batches from a loader that should give all of them the same: "
                "its order does not come from the random numbers of PyTorch, NumPy or Python."
            )

    def _around_backward(self, original: Callable[..., None]) -> Callable[..., None]:
        @functools.wraps(original)
        def checked(tensors: Any, *args: Any, **kwargs: Any) -> None:
            if self.is_training_divided and self._window is None:
                self._compare_losses(tensors)
            return original(tensors, *args, **kwargs)

        return super()._around_backward(checked)

    def _compare_losses(self, tensors: Any) -> None:
        if self._compared == _COMPARED_LOSSES:
            return
        self._compared += 1
        if not self._ranks.are_real:
            return
        loss = [float(tensor.detach().double().sum()) for tensor in tensors_in(tensors)]
        largest = max(map(abs, loss), default=0.0)
        for other in self._ranks.gathered(loss):
            if any(abs(left - right) > _TOLERANCE * largest for left, right in zip(loss, other)):
                raise NotForSeveralCards(
                    "oomph: fsdp: The processes compute different losses where each should compute that of the whole "
                    "batch: what the script draws or reads differs from process to process."
                )

    def _on_other_backward(self) -> None:
        if self.is_training_divided and self._window is None:
            self._desk.note(
                "Every process computes whole batches where the loop is not understood: parameters, gradients and "
                "optimizer state are divided there, activations are not."
            )


class DividedBatch:
    """One batch of a loop, of which this process runs its rows."""

    def __init__(
        self, frame: FrameType, body: PartBody, rule: Finding, sizes: list[int], ranks: Ranks, counting: Counting
    ) -> None:
        self._frame: FrameType | None = frame
        self._body = body
        self._rule = rule
        self._sizes = sizes
        self._ranks = ranks
        self._counting = counting
        self._items: list[float] = []
        counting.heard = self._items

    def is_called_from(self, frame: FrameType | None) -> bool:
        """Whether a call of `backward()` is the loop's."""
        while frame is not None and finding.is_in_library(frame):
            frame = frame.f_back
        return frame is not None and frame is self._frame

    def backward(self, run: Callable[[float], None]) -> None:
        """The loop calls `backward()`; `run` does, with what the rows weigh. FSDP takes the mean over processes."""
        self._counting.heard = None
        weights = self._weights()
        run(weights[self._ranks.rank] * self._ranks.count)
        frame, self._frame = self._frame, None
        if frame is not None:
            names, rules = frame.f_locals, self._rule.rules
            set_here = [name for name in self._body.results if name in names]
            finding.assign(frame, {name: self._whole(rules[name], names[name], weights) for name in set_here})

    def close(self) -> None:
        """The script goes on to another batch, or has none left."""
        self._counting.heard = None
        self._frame = None

    def _weights(self) -> list[float]:
        source = self._rule.source
        own = self._items[source] if len(self._items) > source else -1.0
        counts = [count for (count,) in self._ranks.gathered([own])] if self._rule.weighting == "items" else []
        seen = [Seen(size) for size in self._sizes]
        for one, count in zip(seen, counts):
            one.items = [0.0] * source + [count] if count >= 0 else []
        found = probing.weights_of(self._rule.weighting, source, seen) or probing.weights_of("by_rows", 0, seen)
        assert found is not None
        return found

    def _whole(self, rule: combining.Rule, value: Any, weights: list[float]) -> Any:
        """The value for the whole batch, outside of any graph."""
        if isinstance(rule, dict):
            changed = copy.copy(value)
            for name, inner in rule.items():
                changed[name] = self._whole(inner, value[name], weights)
            return changed
        if isinstance(rule, list):
            fields = [self._whole(inner, field, weights) for inner, field in zip(rule, value)]
            return type(value)(*fields) if hasattr(value, "_fields") else type(value)(fields)
        if rule == "same" or not self._ranks.are_real:
            return value
        if rule == "rows":
            if hasattr(value, "detach"):
                return self._ranks.joined_rows(value.detach(), self._sizes)
            joined = [row for rows in self._ranks.all_objects(list(value)) for row in rows]
            return type(value)(joined)
        shares = weights if rule == "weighted" else [size / sum(self._sizes) for size in self._sizes]
        return self._sum(value, 1.0 if rule == "sum" else shares[self._ranks.rank])

    def _sum(self, value: Any, share: float) -> Any:
        import torch

        if isinstance(value, torch.Tensor):
            # A part in which nothing counts has a mean of nothing, and adds nothing.
            part = value.detach() * share if share != 1.0 else value.detach().clone()
            return self._ranks.summed(part if share else torch.zeros_like(part))
        total = self._ranks.summed(torch.tensor(float(value) * share if share else 0.0, dtype=torch.float64)).item()
        return round(total) if isinstance(value, int) else total
