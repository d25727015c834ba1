"""Calls of a model with a part of its batch at a time, for the remedies that divide calls."""

from __future__ import annotations

import contextlib
import ctypes
import functools
import weakref
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

from . import batches, exchanges, models, retrying, trials
from .desk import Desk

#: Samples that do not depend on one another come out alike in parts of other sizes, but for rounding: so much of the
#: largest value, by the bytes of each. Single precision may be TF32 on the way.
ALIKE = {8: 1e-8, 4: 5e-3}
ALIKE_IN_16_BITS = 0.05


@dataclass(frozen=True)
class Telling:
    """What becomes of what is found out."""

    applied: Callable[..., None]
    refuse: Callable[[str], None]
    note: Callable[[str], None]

    @classmethod
    def at(cls, desk: Desk) -> Telling:
        """Tells it at a remedy's desk."""
        return cls(desk.applied, desk.refuse, desk.note)

    @classmethod
    def nobody(cls) -> Telling:
        """Done by hand, nobody is told."""
        return cls(lambda **_facts: None, lambda _sentence: None, lambda _sentence: None)


@dataclass(frozen=True)
class Way:
    """How calls are divided."""

    parts: int
    #: Whether a call of the module, made now, is to be divided.
    applies: Callable[[Any], bool]
    #: Makes the call of one part.
    compute: Callable[[Callable[..., Any], tuple[Any, ...], dict[str, Any]], Any]
    #: The keyword arguments to call a module with, given the script's.
    arguments: Callable[[Any, dict[str, Any]], dict[str, Any]]
    tell: Telling


def divide(model: Any, way: Way) -> None:
    """Makes a model compute its batches in parts: if it cannot, its largest part."""
    root = models.unwrapped(model)
    if hasattr(model, "_orig_mod"):
        way.tell.refuse(f"{type(root).__name__} is compiled: its batches are computed whole")
    else:
        _around(root, "", way)


def _around(module: Any, path: str, way: Way) -> None:
    if not models.around_forward(module, _Chunked(module, path, way)):
        way.tell.refuse(f"{type(module).__name__} is called with whole batches: something else has replaced its forward")


class _Chunked:
    """Stands around the forward of a model."""

    def __init__(self, module: Any, path: str, way: Way) -> None:
        self._module = weakref.ref(module)
        self._path = path
        self._way = way
        self._parts = way.parts
        #: Whether the model takes its batches in parts; unknown before its first call.
        self._is_possible: bool | None = None
        #: Where the samples are in the tensors that it returns.
        self._places: tuple[batches.Place, ...] = ()
        #: Whether a call sends something to other processes.
        self._is_sending = False

    def __call__(self, call: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        module = self._module()
        if self._is_possible is False or models.is_transformed() or not self._way.applies(module):
            return call(*args, **kwargs)
        changed = self._way.arguments(module, kwargs)
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
        """Calls it with a few samples, twice: what differs between the results is where the samples are."""
        import torch

        if mixes_samples(module):
            raise batches.NotPerSample("the statistics of its batch norms are of the whole batch")
        size, other = (2, 3) if count > 2 else (1, 2)
        part = functools.partial(_part, args, kwargs, count, 0)
        # What is made in inference mode does not know what it is a view of.
        with _time_first(module, size), torch.inference_mode(False), exchanges.listening(torch) as heard:
            trial = trials.attempt(module, call, *part(size), with_graph=False, settled_by=part(other))
        self._is_sending = heard.is_sending
        if trial.changes:
            raise batches.NotPerSample(f"calling it changes {trial.changes}")
        self._places = batches.places(trial.output, size, trial.settled_output, other)
        if _computes() and not _are_alike(module, call, part(other), part(size), self._places):
            raise batches.NotPerSample("what it returns for a sample depends on the others")
        self._is_possible = True
        self._way.tell.applied(module=self._path or type(module).__name__, parts=self._way.parts)
        if trial.draws:
            self._way.tell.note("random numbers are drawn for a part at a time: dropout masks are others than before")

    def _in_parts(self, call: Callable[..., Any], args: Any, kwargs: Any, count: int) -> Any:
        def attempt() -> Any:
            return batches.joined(self._results(call, args, kwargs, count), self._places, count)

        def smaller() -> str | None:
            if self._size(count) == 1:
                return None
            self._parts *= 2
            return f"{self._path or type(self._module()).__name__} takes its batches in {self._parts} parts from now on"

        return retrying.repeated(attempt, models.tensors_in((args, kwargs)), smaller, self._is_sending)

    def _results(self, call: Callable[..., Any], args: Any, kwargs: Any, count: int) -> Iterator[Any]:
        size = self._size(count)
        for start in range(0, count, size):
            stop = min(start + size, count)
            result = self._way.compute(call, *_part(args, kwargs, count, start, stop))
            batches.check_output(result, stop - start, self._places)
            yield result

    def _step_aside(self, module: Any, error: Exception) -> None:
        self._is_possible = False
        why = str(error) if isinstance(error, batches.NotPerSample) else f"{type(error).__name__}: {error}"
        self._way.tell.refuse(f"{self._path or type(module).__name__} is called with whole batches: {why}")
        inner = _largest_part(module)
        if inner is not None:
            path, part = inner
            _around(part, f"{self._path}.{path}" if self._path else path, self._way)


def _part(
    args: Any, kwargs: Any, count: int, start: int, stop: int
) -> tuple[tuple[Any, ...], dict[str, Any]]:
    return (
        tuple(batches.part_of(value, count, start, stop) for value in args),
        {name: batches.part_of(value, count, start, stop) for name, value in kwargs.items()},
    )


def mixes_samples(module: Any) -> bool:
    """Whether a norm computes statistics of the batch."""
    from torch.nn.modules.batchnorm import _BatchNorm

    return any(isinstance(part, _BatchNorm) and part.training for part in module.modules())


def divisible_part(model: Any) -> str | None:
    """The path of the part whose calls would be divided, as far as norms decide: the model itself, or in it."""
    path: str | None = ""
    while mixes_samples(model):
        inner = _largest_part(model)
        if inner is None:
            return None
        name, model = inner
        path = f"{path}.{name}" if path else name
    return path


def _largest_part(module: Any) -> tuple[str, Any] | None:
    """The child that has most of the parameters, if one has, and computes in several steps."""
    from torch import nn

    def size(part: Any) -> int:
        return sum(parameter.numel() for parameter in part.parameters())

    containers = (nn.ModuleList, nn.ModuleDict)
    children = [entry for entry in module.named_children() if not isinstance(entry[1], containers)]
    name, child = max(children, key=lambda entry: size(entry[1]), default=("", None))
    has_steps = child is not None and (any(True for _ in child.children()) or isinstance(child, nn.RNNBase))
    return (name, child) if has_steps and 2 * size(child) > size(module) else None


@contextlib.contextmanager
def _time_first(module: Any, count: int) -> Iterator[None]:
    """Raises if a layer that takes its batch in the second dimension finds the model's rows in the first: those are
    steps in time, and what is computed of one depends on the others."""

    def look(layer: Any, given: tuple[Any, ...]) -> None:
        shape = getattr(given[0], "shape", ()) if given else ()
        if len(shape) == 3 and shape[0] == count and shape[1] != count:
            name = type(layer).__name__
            raise batches.NotPerSample(f"its rows are steps in time: {name} has its batch in the second dimension")

    layers = [part for part in module.modules() if getattr(part, "batch_first", None) is False]
    hooks = [layer.register_forward_pre_hook(look) for layer in layers]
    try:
        yield
    finally:
        for hook in hooks:
            hook.remove()


@functools.cache
def _computes() -> bool:
    """Whether cards compute: those of a plan do not, and what they return says nothing."""
    return getattr(ctypes.PyDLL(None), "oomph_hollow_work", None) is None


def _are_alike(
    module: Any, call: Callable[..., Any], several: Any, fewer: Any, places: tuple[batches.Place, ...]
) -> bool:
    """Whether the first of several samples come out as they do without the others, dropout left aside."""
    switched = [part for part in module.modules() if part.training]
    for part in switched:
        part.training = False
    try:
        first, alone = (trials.attempt(module, call, *given, with_graph=False) for given in (several, fewer))
    finally:
        for part in switched:
            part.training = True
    # Noise of its own is another for each sample.
    pairs = zip(models.tensors_in(first.output), models.tensors_in(alone.output), places)
    return first.draws or all(_is_alike(*pair) for pair in pairs)


def _is_alike(several: Any, alone: Any, place: batches.Place) -> bool:
    import torch

    if not several.is_floating_point():
        return True
    tolerance = ALIKE.get(alone.element_size(), ALIKE_IN_16_BITS)
    several, alone = several.narrow(place.dim, 0, alone.shape[place.dim]).double(), alone.double()
    scale = alone.abs().max().clamp(min=torch.finfo(torch.double).tiny)
    return bool((several - alone).abs().max() <= tolerance * scale) or not bool(torch.isfinite(scale))
