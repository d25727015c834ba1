"""One batch of the script, run in parts: what each part weighs, and what the whole comes to."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from types import FrameType
from typing import Any

from . import combining, finding, probing
from .counting import Counting
from .parts import PartBody
from .probing import Finding, Seen
from .ties import Ties

#: What is rounding and needs no correction.
_ROUNDING = 1e-14


class Window:
    """The parts of one batch, one `backward()` each."""

    def __init__(self, rule: Finding, sizes: list[int], ties: Ties, counting: Counting) -> None:
        self._rule = rule
        self._seen = [Seen(size) for size in sizes]
        self._seeds: list[float] = []
        self._ties = ties
        self._counting = counting
        ties.hold_back()

    def begin(self, number: int) -> None:
        """A part begins."""
        self._counting.heard = self._seen[number].items
        if number + 1 == len(self._seen):
            # Replicas decide in their forward pass whether gradients will be exchanged.
            self._ties.let_go()

    def is_called_from(self, _frame: FrameType | None) -> bool:
        """Whether a call of `backward()` is that of a part."""
        return len(self._seeds) < len(self._seen)

    def backward(self, run: Callable[[float], None]) -> None:
        """A part calls `backward()`; `run` does, with what the part weighs."""
        self._counting.heard = None
        if not self._seeds and self._rule.weighting == "items":
            self._ties.set_gradients_aside()
        if len(self._seeds) + 1 == len(self._seen):
            weights = self._weights()
            self._correct(weights)
            self._seeds.append(weights[-1])
        else:
            self._seeds.append(self._seed())
        run(self._seeds[-1])

    def whole(self, rules: dict[str, combining.Rule], parts: Sequence[dict[str, Any]]) -> dict[str, Any]:
        """All parts have run: their gradients are the whole's now. Says what the variables are for it."""
        self._ties.add_gradients_set_aside()
        weights, rows = self._weights(), [one.rows for one in self._seen]
        return {
            name: combining.combine(rule, [each[name] for each in parts], weights, rows)
            for name, rule in rules.items()
            if rule != "same"
        }

    def close(self) -> None:
        """The script goes on to another batch, or has none left."""
        self._counting.heard = None
        self._ties.let_go()
        self._ties.add_gradients_set_aside()

    def _seed(self) -> float:
        """What a part is taken to weigh before the others are known."""
        seen, total = self._seen[len(self._seeds)], sum(one.rows for one in self._seen)
        if self._rule.weighting == "sum":
            return 1.0
        if self._rule.weighting == "by_rows":
            return seen.rows / total
        known = next(((seed, one) for seed, one in zip(self._seeds, self._seen) if seed), None)
        if known is None:
            return seen.rows / total if self._items(seen) else 0.0
        return known[0] * self._items(seen) / self._items(known[1])

    def _items(self, seen: Seen) -> float:
        return seen.items[self._rule.source] if len(seen.items) > self._rule.source else float(seen.rows)

    def _weights(self) -> list[float]:
        found = probing.weights_of(self._rule.weighting, self._rule.source, self._seen)
        if found is None:
            if any(len(one.items) <= self._rule.source for one in self._seen):
                self._ties.disagree()
            found = probing.weights_of("by_rows", 0, self._seen)
        assert found is not None
        return found

    def _correct(self, weights: list[float]) -> None:
        """Makes the gradients so far weigh what is known now."""
        known = next(((seed, weight) for seed, weight in zip(self._seeds, weights) if seed), None)
        factor = known[1] / known[0] if known else 1.0
        if abs(factor - 1) > _ROUNDING:
            self._ties.scale_gradients(factor)


class LoopWindow(Window):
    """A batch of a loop of the script, which runs the first part; the others follow while it waits for `backward()`."""

    def __init__(
        self,
        frame: FrameType,
        body: PartBody,
        rule: Finding,
        batch: tuple[list[Any], list[int]],
        ties: Ties,
        counting: Counting,
    ) -> None:
        self._parts, sizes = batch
        super().__init__(rule, sizes, ties, counting)
        self._frame: FrameType | None = frame
        self._body = body
        self.begin(0)

    def is_called_from(self, frame: FrameType | None) -> bool:
        if not super().is_called_from(frame):
            return False
        while frame is not None and finding.is_in_library(frame):
            frame = frame.f_back
        return frame is not None and (frame is self._frame or frame.f_code is self._body.code)

    def backward(self, run: Callable[[float], None]) -> None:
        is_first = not self._seeds
        super().backward(run)
        if is_first:
            self._run_others()

    def _run_others(self) -> None:
        frame, self._frame = self._frame, None
        if frame is None:
            return
        names = frame.f_locals
        results = [{name: names[name] for name in self._body.results if name in names}]
        for number in range(1, len(self._parts)):
            self.begin(number)
            part, self._parts[number] = self._parts[number], None
            results.append(self._body.run(part, frame))
        # A loop that is left early must not stay alive because of this window.
        self._parts = []
        finding.assign(frame, self.whole(self._rule.rules, results))
