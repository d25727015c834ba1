"""Keeps what the forward pass saves for the backward pass in host memory meanwhile."""

from __future__ import annotations

import functools
import weakref
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from itertools import chain
from types import ModuleType
from typing import Any

from . import models
from .desk import Desk
from .offloading import BUFFER_BYTES, Offloading

#: Smaller tensors are not worth the trip.
MIN_BYTES = 1 << 20

_by_options: dict[tuple[int, int], Offloading] = {}


@contextmanager
def offload_activations(model: Any = None, keep_bytes: int = 0, min_bytes: int = MIN_BYTES) -> Iterator[None]:
    """What autograd saves inside goes to pinned host memory, and comes back during the backward pass.

    `with oomph.offload_activations(model): loss = compute_loss(model(x))`. The weights and buffers of `model` stay on
    the card, and so do the latest `keep_bytes`, which the backward pass wants first, and tensors below `min_bytes`. The
    host memory is used again from step to step.
    """
    import torch

    offloading = _by_options.setdefault((keep_bytes, min_bytes), Offloading(torch, keep_bytes, min_bytes))
    offloading.leave_alone(chain(model.parameters(), model.buffers()) if model is not None else ())
    with offloading.hooks():
        yield


def install(
    torch: ModuleType,
    desk: Desk,
    keep_bytes: int = 0,
    min_bytes: int = MIN_BYTES,
    device_types: tuple[str, ...] = ("cuda",),
    buffer_bytes: int = BUFFER_BYTES,
) -> None:
    """Does it from every outermost call of a model to the backward pass. `device_types` are those whose memory is short."""
    offloading = Offloading(torch, keep_bytes, min_bytes, tuple(device_types), buffer_bytes)
    until_backward = _UntilBackward(torch, offloading)

    def before_first(model: Any) -> None:
        root, name = models.unwrapped(model), type(models.unwrapped(model)).__name__
        if models.in_backward():
            return
        if any(hasattr(module, "_orig_mod") for module in model.modules()):
            desk.refuse(f"{name} is compiled: its graph decides by itself what it saves")
        elif not models.around_forward(root, _Around(torch, root, offloading, until_backward, desk)):
            desk.refuse(f"{name} stays as it is: something else has replaced its forward")

    desk.calls.before_first(before_first)


class _UntilBackward:
    """Hooks that stay after the model's call: the loss saves tensors too. The next backward pass ends them."""

    def __init__(self, torch: ModuleType, offloading: Offloading) -> None:
        self._torch = torch
        self._offloading = offloading
        self._hooks: Any | None = None
        engine = torch.autograd._engine_run_backward

        @functools.wraps(engine)
        def _engine_run_backward(*args: Any, **kwargs: Any) -> Any:
            self.end()
            return engine(*args, **kwargs)

        torch.autograd._engine_run_backward = _engine_run_backward

    def begin(self) -> None:
        """From now on; not where the script has hooks of its own, which may end before the backward pass does."""
        if self._hooks is None and self._innermost() is None:
            self._hooks = self._offloading.hooks()
            self._hooks.__enter__()

    def end(self) -> None:
        """Takes the hooks away, if they are the innermost: whoever put others there takes those away first."""
        innermost = self._innermost()
        if self._hooks is not None and innermost is not None and innermost[0] == self._offloading.pack:
            self._hooks.__exit__(None, None, None)
            self._hooks = None

    def _innermost(self) -> Any | None:
        return self._torch._C._autograd._top_saved_tensors_default_hooks(True)


class _Around:
    """Stands around the forward of one model."""

    def __init__(
        self, torch: ModuleType, root: Any, offloading: Offloading, until_backward: _UntilBackward, desk: Desk
    ) -> None:
        self._torch = torch
        self._name = type(root).__name__
        # Weakly: as long as the model lives, so does what stands around its forward.
        self._root = weakref.ref(root)
        self._offloading = offloading
        self._until_backward = until_backward
        self._desk = desk
        self._is_told = False

    def __call__(self, call: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        root = self._root()
        if root is None or not self._torch.is_grad_enabled() or models.is_transformed() or models.in_backward():
            return call(*args, **kwargs)
        self._offloading.leave_alone(chain(root.parameters(), root.buffers(), models.tensors_in((args, kwargs))))
        before_bytes = self._offloading.moved_bytes
        with self._offloading.hooks():
            result = call(*args, **kwargs)
        moved_bytes = self._offloading.moved_bytes - before_bytes
        if moved_bytes and not self._is_told:
            self._is_told = True
            self._desk.applied(model=self._name, moved_bytes=moved_bytes)
        if root.training:
            self._until_backward.begin()
        return result
