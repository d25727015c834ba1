"""Hears of backward passes that fill `.grad`, and of code that reads `.grad`."""

from __future__ import annotations

import sys
import weakref
from types import FrameType, ModuleType
from typing import Any, Protocol

#: Where gradients are read on the way from a backward pass to a step in any script.
_ALWAYS_READ = ("torch.optim.", "torch.nn.modules.module.", "oomph.")


class Listener(Protocol):
    """Whoever wants to hear of the gradients of some parameters."""

    def before_backward(self, retain_graph: bool, create_graph: bool) -> None:
        """A backward pass begins that adds to `.grad`."""

    def read(self, parameter: Any, value: Any) -> None:
        """The script, or a library, looks at `parameter.grad`."""

    def cleared(self, parameter: Any) -> None:
        """Some `zero_grad` came by this parameter."""


_listeners: weakref.WeakSet[Any] = weakref.WeakSet()
#: By the parameter's id: a reference to it, and one to its listener.
_owners: dict[int, tuple[Any, Any]] = {}


def listen(torch: ModuleType, listener: Listener) -> None:
    """Tells the listener of every backward pass from now on, as long as it lives."""
    if "grad" not in vars(torch.nn.Parameter):
        _watch_backward(torch)
        _watch_reads(torch)
    _listeners.add(listener)


def listen_to_reads(parameter: Any, listener: Listener) -> None:
    """Tells the listener of reads of this parameter's gradient."""
    key = id(parameter)
    _owners[key] = (weakref.ref(parameter, lambda _gone: _owners.pop(key, None)), weakref.ref(listener))


def listener_of(parameter: Any) -> Any:
    """Who is told of reads of this parameter's gradient, if anybody."""
    known, owner = _owners.get(id(parameter), (None, None))
    return owner() if known is not None and known() is parameter else None


def _watch_backward(torch: ModuleType) -> None:
    engine = torch.autograd._engine_run_backward

    def _engine_run_backward(
        tensors: Any, seeds: Any, retain_graph: Any, create_graph: Any, *rest: Any, **kwargs: Any
    ) -> Any:
        # `torch.autograd.grad` comes here too, and adds to no `.grad`.
        if kwargs.get("accumulate_grad"):
            for listener in list(_listeners):
                listener.before_backward(bool(retain_graph), bool(create_graph))
        return engine(tensors, seeds, retain_graph, create_graph, *rest, **kwargs)

    torch.autograd._engine_run_backward = _engine_run_backward


def _watch_reads(torch: ModuleType) -> None:
    plain = torch.Tensor.grad

    def get(parameter: Any) -> Any:
        value = plain.__get__(parameter)
        if id(parameter) in _owners:
            _tell_read(parameter, value, sys._getframe(1))
        return value

    torch.nn.Parameter.grad = property(get, plain.__set__, plain.__delete__, "The gradient, as of any tensor.")


def _tell_read(parameter: Any, value: Any, reader: FrameType) -> None:
    listener = listener_of(parameter)
    if listener is None:
        return
    if reader.f_code.co_name == "zero_grad":
        listener.cleared(parameter)
    elif not f"{reader.f_globals.get('__name__', '')}.".startswith(_ALWAYS_READ):
        listener.read(parameter, value)
