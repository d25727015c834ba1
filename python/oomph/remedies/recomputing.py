"""Calls that are done again in the backward pass instead of keeping what they computed.

`torch.utils.checkpoint` does the work. Three things are added, so that the numbers are those of the plain run: Python's
and NumPy's random numbers are the same in the second call, those of the card also if its tensors come by name, and
the second call does not count in the running statistics of batch norms.
"""

from __future__ import annotations

import contextlib
import functools
import random
import sys
import threading
from collections.abc import Callable, Iterable, Iterator
from typing import Any

#: Whether this thread is inside a call that a remedy recomputes; blocks inside it may be recomputed one by one as well.
_inside = threading.local()


def recompute(
    function: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any], modules: Iterable[Any] = ()
) -> Any:
    """Calls a function, and calls it again in the backward pass. `modules` are those whose statistics count once."""
    from torch.utils.checkpoint import checkpoint

    names = list(kwargs)
    count = len(args)
    norms = list(running_statistics(modules))
    states = random_states()

    def call(*values: Any) -> Any:
        with _marked():
            return function(*values[:count], **dict(zip(names, values[count:])))

    # Everything by position: checkpoint looks for the cards whose random numbers it keeps there alone.
    return checkpoint(
        call,
        *args,
        *kwargs.values(),
        use_reentrant=False,
        context_fn=lambda: (contextlib.nullcontext(), _SecondCall(states, norms)),
    )


def inside_recomputed_call() -> bool:
    """Whether a remedy recomputes the call that this is part of."""
    return getattr(_inside, "depth", 0) > 0


def recomputed_by_script() -> bool:
    """Whether the script itself recomputes the call that this is part of."""
    import torch
    from torch.utils import checkpoint

    from . import models

    if inside_recomputed_call():
        return False
    hooks = torch._C._autograd._top_saved_tensors_default_hooks(True)
    return models.in_backward() or (hooks is not None and hooks[0].__module__ == checkpoint.__name__)


def running_statistics(modules: Iterable[Any]) -> Iterator[Any]:
    """The norms among these modules that update statistics when they are called in training."""
    from torch.nn.modules.batchnorm import _NormBase

    for module in modules:
        if isinstance(module, _NormBase) and module.track_running_stats and module.running_mean is not None:
            yield module


@contextlib.contextmanager
def _marked() -> Iterator[None]:
    _inside.depth = getattr(_inside, "depth", 0) + 1
    try:
        yield
    finally:
        _inside.depth -= 1


class _SecondCall:
    """Around each call that recomputes: with `retain_graph` there may be several."""

    def __init__(self, states: tuple[Any, Any], norms: list[Any]) -> None:
        self._states = states
        self._norms = norms
        self._put_back: list[Callable[[], None]] = []

    def __enter__(self) -> None:
        self._put_back = [functools.partial(set_random_states, random_states())]
        for norm in self._norms:
            if norm.training:
                # The second call updates copies: what it computes does not depend on them.
                self._put_back.append(functools.partial(norm._buffers.update, dict(norm._buffers)))
                for name, buffer in norm._buffers.items():
                    norm._buffers[name] = None if buffer is None else buffer.clone()
        set_random_states(self._states)

    def __exit__(self, *_error: object) -> None:
        for put_back in self._put_back:
            put_back()


def random_states() -> tuple[Any, Any]:
    """Where Python's and NumPy's random numbers are."""
    numpy = sys.modules.get("numpy.random")
    return random.getstate(), numpy.get_state() if numpy is not None else None


def set_random_states(states: tuple[Any, Any]) -> None:
    """Sets Python's and NumPy's random numbers back to where they were."""
    of_python, of_numpy = states
    random.setstate(of_python)
    if of_numpy is not None:
        sys.modules["numpy.random"].set_state(of_numpy)
