"""Calls the model with a part of the batch at a time, and recomputes each part in the backward pass.

The loss sees the results of the whole batch, so it is exact whatever it does with them: means over tokens, contrastive
terms between samples. Where the loop over batches is understood, micro-batches do the same without recomputing.
"""

from __future__ import annotations

import inspect
import weakref
from collections.abc import Callable
from dataclasses import dataclass
from types import ModuleType
from typing import Any

from . import batches, models, recomputing, trials
from .desk import Desk


def chunk_calls(model: Any, parts: int) -> None:
    """Makes a model compute its batches in so many parts, each recomputed in the backward pass.

    The model is to take and return tensors with one row per sample. If it returns something else, such as its own loss,
    this is tried with its largest part instead; if that does not either, it stays as it is.
    """
    _chunk(model, parts, _Telling(lambda **_facts: None, lambda _sentence: None, lambda _sentence: None))


def install(torch: ModuleType, desk: Desk, parts: int = 4) -> None:
    """Does so with every model that the script calls."""

    def before_first(model: Any) -> None:
        if not models.in_backward() and any(True for _ in model.parameters()):
            _chunk(model, parts, _Telling(desk.applied, desk.refuse, desk.note))

    desk.calls.before_first(before_first)


@dataclass(frozen=True)
class _Telling:
    applied: Callable[..., None]
    refuse: Callable[[str], None]
    note: Callable[[str], None]


def _chunk(model: Any, parts: int, tell: _Telling) -> None:
    root = models.unwrapped(model)
    if hasattr(model, "_orig_mod"):
        tell.refuse(f"{type(root).__name__} is compiled: its batches are computed whole")
    else:
        _around(root, "", parts, tell)


def _around(module: Any, path: str, parts: int, tell: _Telling) -> None:
    if not models.around_forward(module, _Chunked(module, path, parts, tell)):
        tell.refuse(f"{type(module).__name__} is called with whole batches: something else has replaced its forward")


class _Chunked:
    """Stands around the forward of a model."""

    def __init__(self, module: Any, path: str, parts: int, tell: _Telling) -> None:
        self._module = weakref.ref(module)
        self._path = path
        self._parts = parts
        self._tell = tell
        #: Whether the model takes its batches in parts; unknown before its first call.
        self._is_possible: bool | None = None

    def __call__(self, call: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        import torch

        module = self._module()
        if not torch.is_grad_enabled() or not module.training or models.is_transformed():
            return call(*args, **kwargs)
        if self._is_possible is False or recomputing.inside_recomputed_call() or recomputing.recomputed_by_script():
            return call(*args, **kwargs)
        changed = _without_cache(module, kwargs)
        try:
            count = batches.batch_size({"args": dict(enumerate(args)), "kwargs": changed})
            if self._is_possible is None and count > 1:
                self._try(module, call, args, changed, count)
        except Exception as error:
            self._step_aside(module, error)
            return call(*args, **kwargs)
        if count == 1:
            return call(*args, **kwargs)
        try:
            return self._in_parts(call, args, changed, count)
        except batches.NotPerSample as error:
            self._step_aside(module, error)
            return call(*args, **kwargs)

    def _size(self, count: int) -> int:
        return -(-count // self._parts)

    def _try(self, module: Any, call: Callable[..., Any], args: Any, kwargs: Any, count: int) -> None:
        """Calls it with part of a batch, not as large as the parts will be: sizes that agree by chance differ."""
        if any(norm.training for norm in _batch_norms(module)):
            raise batches.NotPerSample("the statistics of its batch norms are of the whole batch")
        size = self._size(count)
        size = size - 1 if size > 1 else size
        trial = trials.attempt(module, call, *_part(args, kwargs, count, 0, size), with_graph=False)
        if trial.changes:
            raise batches.NotPerSample(f"calling it changes {trial.changes}")
        batches.check_output(trial.output, size)
        self._is_possible = True
        self._tell.applied(module=self._path or type(module).__name__, parts=self._parts)
        if trial.draws:
            self._tell.note("random numbers are drawn for a part at a time: dropout masks are others than before")

    def _in_parts(self, call: Callable[..., Any], args: Any, kwargs: Any, count: int) -> Any:
        size = self._size(count)
        results = []
        for start in range(0, count, size):
            stop = min(start + size, count)
            result = recomputing.recompute(call, *_part(args, kwargs, count, start, stop))
            batches.check_output(result, stop - start)
            results.append(result)
        return batches.joined(results)

    def _step_aside(self, module: Any, error: Exception) -> None:
        self._is_possible = False
        why = str(error) if isinstance(error, batches.NotPerSample) else f"{type(error).__name__}: {error}"
        self._tell.refuse(f"{self._path or type(module).__name__} is called with whole batches: {why}")
        inner = _largest_part(module)
        if inner is not None:
            path, part = inner
            _around(part, f"{self._path}.{path}" if self._path else path, self._parts, self._tell)


def _part(args: Any, kwargs: Any, count: int, start: int, stop: int) -> tuple[tuple[Any, ...], dict[str, Any]]:
    return (
        tuple(batches.part_of(value, count, start, stop) for value in args),
        {name: batches.part_of(value, count, start, stop) for name, value in kwargs.items()},
    )


def _without_cache(module: Any, kwargs: dict[str, Any]) -> dict[str, Any]:
    """transformers' models make a key-value cache unless told otherwise; in training nobody reads it."""
    forward = inspect.unwrap(type(module).forward)
    if "use_cache" in inspect.signature(forward).parameters and kwargs.get("past_key_values") is None:
        return {**kwargs, "use_cache": False}
    return kwargs


def _batch_norms(module: Any) -> list[Any]:
    from torch.nn.modules.batchnorm import _BatchNorm

    return [part for part in module.modules() if isinstance(part, _BatchNorm)]


def _largest_part(module: Any) -> tuple[str, Any] | None:
    """The child that has most of the parameters, if one has."""
    from torch import nn

    def size(part: Any) -> int:
        return sum(parameter.numel() for parameter in part.parameters())

    containers = (nn.ModuleList, nn.ModuleDict)
    children = [entry for entry in module.named_children() if not isinstance(entry[1], containers)]
    name, child = max(children, key=lambda entry: size(entry[1]), default=("", None))
    return (name, child) if child is not None and 2 * size(child) > size(module) and any(child.children()) else None
