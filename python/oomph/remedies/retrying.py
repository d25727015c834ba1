"""What a real run does again where memory ran out in spite of a plan: only what can be repeated exactly.

A divided call of a model changes nothing (a trial has shown that), so it can be made again in smaller parts, with the
random numbers it began with. An optimizer's first step can be taken again if no parameter and no gradient was changed
yet: then with empty caches, and if that is not enough with its state on the host. Everything else is the script's to
decide, and so is what sends something to other processes on its way: see `exchanges`.

Plans repeat nothing: there, running out of memory is the answer.
"""

from __future__ import annotations

import gc
import weakref
from collections.abc import Callable, Iterable
from types import ModuleType
from typing import Any

from . import exchanges, optimizer_on_host, recomputing, steps

#: Why something is not done again.
_WITH_OTHERS = "which sends to other processes on its way and was not repeated: they are in the middle of it"

#: Told what was repeated, in one sentence; None where nothing is.
_tell: Callable[[str], None] | None = None
#: Optimizers whose state went to the host after a shortage.
_on_host: weakref.WeakSet[Any] = weakref.WeakSet()


def install(torch: ModuleType, tell: Callable[[str], None]) -> None:
    """Repeats what can be repeated, from now on."""
    global _tell
    _tell = tell

    def step(below: steps.Step, optimizer: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        return _stepped(torch, below, optimizer, args, kwargs)

    steps.around_all_steps(torch, step)


def repeated(
    attempt: Callable[[], Any], given: Iterable[Any], smaller: Callable[[], str | None], is_sending: bool
) -> Any:
    """Calls `attempt`, which changes nothing but random numbers, on tensors `given`.

    Where memory runs out, `smaller` makes the next attempt take less and says how, or None if it cannot. One that
    `is_sending` to other processes is made once.
    """
    import torch

    if _tell is None:
        return attempt()
    states = _RandomStates(torch, given)
    while True:
        try:
            return attempt()
        except torch.OutOfMemoryError:
            if is_sending:
                _tell(f"memory ran out in a call of the model, {_WITH_OTHERS}")
                raise
            change = smaller()
            if change is None:
                raise
        # Not before the exception is gone: its frames hold what the attempt had computed.
        states.put_back()
        _make_room(torch)
        _tell(f"memory ran out in a call of the model, which was made again: {change}")


def _stepped(
    torch: ModuleType, below: steps.Step, optimizer: Any, args: tuple[Any, ...], kwargs: dict[str, Any]
) -> Any:
    if optimizer in _on_host:
        return optimizer_on_host.step_of_any(below, optimizer, args, kwargs)
    if _tell is None or optimizer.state or steps.closure_of(args, kwargs) is not None:
        return below(optimizer, *args, **kwargs)
    before, kind = _Untouched(optimizer), type(optimizer).__name__
    with exchanges.listening(torch) as heard:
        try:
            return below(optimizer, *args, **kwargs)
        except torch.OutOfMemoryError:
            if heard.is_sending:
                _tell(f"memory ran out in the first step of {kind}, {_WITH_OTHERS}")
            if heard.is_sending or not before.holds():
                raise
    before.put_back()
    _make_room(torch)
    with exchanges.listening(torch) as heard:
        try:
            result = below(optimizer, *args, **kwargs)
            _tell(f"memory ran out in the first step of {kind}, which was taken again with empty caches")
            return result
        except torch.OutOfMemoryError:
            if heard.is_sending or not before.holds():
                raise
            before.put_back()
            if _is_divided(torch, optimizer) or not optimizer_on_host.page(torch, optimizer):
                raise
    _make_room(torch)
    _on_host.add(optimizer)
    _tell(f"memory ran out in the first step of {kind}, which was taken again: its state is on the host from now on")
    return optimizer_on_host.step_of_any(below, optimizer, args, kwargs)


def _is_divided(torch: ModuleType, optimizer: Any) -> bool:
    """Whether other processes have the rest of a parameter."""
    parameters = steps.parameters_of(optimizer)
    return not exchanges.is_alone(torch) and any("DTensor" in type(parameter).__name__ for parameter in parameters)


class _Untouched:
    """An optimizer before its first step."""

    def __init__(self, optimizer: Any) -> None:
        self._optimizer = optimizer
        self._versions = self._versions_now()
        self._counts = steps.counts(optimizer)

    def holds(self) -> bool:
        """Whether no parameter and no gradient was changed since."""
        return self._versions == self._versions_now()

    def put_back(self) -> None:
        """There was no state, and nothing was counted."""
        self._optimizer.state.clear()
        for place, name, value in self._counts:
            place[name] = value

    def _versions_now(self) -> list[tuple[int, int, int]]:
        parameters = steps.parameters_of(self._optimizer)
        return [
            (parameter._version, id(parameter.grad), -1 if parameter.grad is None else parameter.grad._version)
            for parameter in parameters
        ]


class _RandomStates:
    """Where random numbers are: Python's, NumPy's, PyTorch's, and those of the cards of some tensors."""

    def __init__(self, torch: ModuleType, given: Iterable[Any]) -> None:
        self._torch = torch
        self._of_host = recomputing.random_states()
        self._of_torch = torch.get_rng_state()
        cards = sorted({tensor.device.index for tensor in given if tensor.is_cuda})
        self._of_cards = [(card, torch.cuda.get_rng_state(card)) for card in cards]

    def put_back(self) -> None:
        """Lets the next numbers be those that came after this was made."""
        recomputing.set_random_states(self._of_host)
        self._torch.set_rng_state(self._of_torch)
        for card, state in self._of_cards:
            self._torch.cuda.set_rng_state(state, card)


def _make_room(torch: ModuleType) -> None:
    gc.collect()
    if torch.cuda.is_available() and torch.cuda.is_initialized():
        torch.cuda.empty_cache()
