"""Runs a few rows of the first batch through the loop's statements, together and apart, and compares.

A loss that is a mean or a sum over rows comes out the same either way. One that compares the rows of a batch with each
other, or a batch normalization, does not. Everything the probe changes is put back.
"""

from __future__ import annotations

import contextlib
import importlib
import random
import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from types import ModuleType
from typing import Any

from . import combining, shapes
from .counting import Counting
from .reading import NotUnderstood

#: How far sums in another order may differ, by the number of bits that were computed with.
_TOLERANCES = ((64, 1e-8), (32, 1e-4), (16, 3e-2))


@dataclass
class Seen:
    """What one run of the statements showed."""

    rows: int
    results: dict[str, Any] = field(default_factory=dict)
    losses: list[Any] = field(default_factory=list)
    #: The items of each mean of a loss function.
    items: list[float] = field(default_factory=list)


@dataclass(frozen=True)
class Finding:
    """How the loss of a batch comes from those of its parts."""

    #: `items`: the share of what loss functions counted; `by_rows`: the share of rows; `sum`: all alike.
    weighting: str
    #: Which of the loss functions that are called for a batch counts the items.
    source: int
    #: How the variables of the whole come from those of the parts.
    rules: dict[str, combining.Rule]


def weights_of(weighting: str, source: int, seen: Sequence[Seen]) -> list[float] | None:
    """What each part weighs; None where the loss function was not called for all, or nothing counts."""
    if weighting == "sum":
        return [1.0] * len(seen)
    if weighting == "items":
        if any(len(one.items) <= source for one in seen):
            return None
        counts = [one.items[source] for one in seen]
    else:
        counts = [float(one.rows) for one in seen]
    return [count / sum(counts) for count in counts] if sum(counts) else None


def compare(runs: dict[str, Seen], bits: int, knows_values: bool) -> Finding:
    """Finds how the runs of the whole and its two parts belong together. Raises `NotUnderstood`."""
    whole, parts = runs["whole"], [runs["first"], runs["second"]]
    tolerance = next(allowed for least, allowed in _TOLERANCES if bits >= least) if knows_values else None
    found = ("by_rows", 0) if tolerance is None else _weighting(whole, parts, tolerance)
    if found is None:
        raise NotUnderstood(
            "the loss of a batch is not the mean or the sum of those of its rows, as with losses that compare rows"
        )
    weights = weights_of(*found, parts) or []
    rows = [part.rows for part in parts]
    rules = {}
    for name, value in whole.results.items():
        if any(name not in part.results for part in parts):
            raise NotUnderstood(f"`{name}` is not always set before backward()")
        values = [part.results[name] for part in parts]
        rules[name] = combining.learn(value, values, weights, rows, tolerance)
        if rules[name] is None:
            raise NotUnderstood(f"`{name}` is read after backward(), and cannot be put together from parts")
    return Finding(*found, rules)


def _weighting(whole: Seen, parts: Sequence[Seen], tolerance: float) -> tuple[str, int] | None:
    losses = [part.losses[0] for part in parts]
    heard = [("items", number) for number in range(len(whole.items))]
    for weighting in (*heard, ("by_rows", 0), ("sum", 0)):
        weights = weights_of(*weighting, parts)
        if weights is not None:
            expected = sum(loss * weight for loss, weight in zip(losses, weights) if weight)
            if combining.is_close(whole.losses[0], expected, tolerance):
                return weighting
    return None


@contextlib.contextmanager
def nothing_changes(torch: ModuleType, roots: Sequence[Any]) -> Iterator[None]:
    """Puts back generators and the state of modules. Raises `NotUnderstood` at a batch normalization."""
    numpy = sys.modules.get("numpy")
    states = random.getstate(), numpy.random.get_state() if numpy else None
    kept = _ModuleStates(torch)

    def before_call(module: Any, _args: Any) -> None:
        is_norm = isinstance(module, torch.nn.modules.batchnorm._BatchNorm)
        if is_norm and (module.training or module.running_mean is None):
            raise NotUnderstood("the model normalizes over the batch (BatchNorm), so that a part has other statistics")
        kept.keep(module)

    def before_step(*_args: Any) -> None:
        raise NotUnderstood("it takes an optimizer step before backward()")

    # `torch.optim` hides the module's name behind nothing.
    optimizers = importlib.import_module("torch.optim.optimizer")
    hooks = [optimizers.register_optimizer_step_pre_hook(before_step)]
    hooks.append(torch.nn.modules.module.register_module_forward_pre_hook(before_call))
    devices = list(range(torch.cuda.device_count())) if torch.cuda.is_initialized() else []
    try:
        with torch.random.fork_rng(devices), torch.no_grad(), _uncompiled(torch):
            for root in roots:
                kept.keep(root)
            yield
    finally:
        for hook in hooks:
            hook.remove()
        kept.put_back()
        random.setstate(states[0])
        if numpy:
            numpy.random.set_state(states[1])


def _uncompiled(torch: ModuleType) -> contextlib.AbstractContextManager[Any]:
    """Has compiled functions run as they were written: what were compiled now would be for other sizes."""
    is_in_use = "torch._dynamo" in sys.modules
    return torch.compiler.set_stance("force_eager") if is_in_use else contextlib.nullcontext()


class _ModuleStates:
    """Buffers, and attributes that hold tensors, numbers and lists: counters and metrics."""

    def __init__(self, torch: ModuleType) -> None:
        self._torch = torch
        self._known: set[int] = set()
        self._tensors: list[tuple[Any, Any]] = []
        self._attributes: list[tuple[dict[str, Any], str, Any, Any]] = []

    def keep(self, root: Any) -> None:
        """Remembers the state of a module and those inside of it."""
        if id(root) in self._known:
            return
        for module in root.modules():
            if id(module) in self._known:
                continue
            self._known.add(id(module))
            self._tensors += [(one, one.detach().clone()) for one in module._buffers.values() if one is not None]
            for name, value in list(vars(module).items()):
                if isinstance(value, self._torch.Tensor):
                    self._tensors.append((value, value.detach().clone()))
                if isinstance(value, (self._torch.Tensor, int, float, str, type(None))) or type(value) is list:
                    copied = list(value) if type(value) is list else None
                    self._attributes.append((vars(module), name, value, copied))

    def put_back(self) -> None:
        """As if nothing had been called."""
        for tensor, value in self._tensors:
            tensor.data.copy_(value)
        for names, name, value, copied in self._attributes:
            names[name] = value
            if copied is not None:
                value[:] = copied


class Repeated:
    """Makes what is drawn at random the same in every row and every run, and leaves dropout out."""

    def __init__(self, torch: ModuleType) -> None:
        self.bits = 64
        self._torch = torch
        self._drawn: list[Any] = []
        self._number = 0

    @contextlib.contextmanager
    def run(self) -> Iterator[None]:
        """Around one run of the statements."""
        from torch.utils._python_dispatch import TorchDispatchMode

        self._number = 0
        answer = self._answer

        class Mode(TorchDispatchMode):
            def __torch_dispatch__(self, function: Any, _types: Any, args: Any = (), kwargs: Any = None) -> Any:
                return answer(function, args, kwargs or {})

        with Mode():
            yield

    def _answer(self, function: Any, args: Any, kwargs: dict[str, Any]) -> Any:
        torch = self._torch
        if torch.Tag.nondeterministic_seeded not in function.tags:
            result = function(*args, **kwargs)
            if isinstance(result, torch.Tensor) and result.is_floating_point():
                self.bits = min(self.bits, 8 * result.element_size())
            return result
        names = [argument.name for argument in function._schema.arguments]
        if function.overloadpacket is torch.ops.aten.native_dropout:
            return args[0].clone(), torch.ones_like(args[0], dtype=torch.bool)
        if "dropout_p" in names and names.index("dropout_p") < len(args):
            args = [0.0 if name == "dropout_p" else value for name, value in zip(names, args)]
        result = function(*args, **kwargs)
        return self._same_rows(result) if isinstance(result, torch.Tensor) and result.dim() else result

    def _same_rows(self, result: Any) -> Any:
        number, self._number = self._number, self._number + 1
        if number == len(self._drawn):
            self._drawn.append(result[:1].clone() if result.shape[0] else None)
        row = self._drawn[number]
        if row is not None and row.shape[1:] == result.shape[1:] and row.dtype == result.dtype:
            result.copy_(row.expand_as(result))
        return result


def probe(
    torch: ModuleType,
    counting: Counting,
    run: Callable[[Any, Seen], None],
    batches: dict[str, tuple[Any, int]],
    roots: Sequence[Any],
) -> Finding:
    """Runs the statements with each of the small batches and compares. Raises `NotUnderstood`."""
    runs: dict[str, Seen] = {}
    repeated = Repeated(torch)
    computed: list[tuple[int, shapes.Computed]] = []
    with nothing_changes(torch, roots):
        for name, (batch, rows) in batches.items():
            seen = runs[name] = Seen(rows)
            computed.append((rows, []))
            counting.heard = seen.items
            try:
                with repeated.run() if counting.knows_values else shapes.recorded(torch, computed[-1][1]):
                    run(batch, seen)
            finally:
                counting.heard = None
            if len(seen.losses) != 1:
                raise NotUnderstood(f"backward() was called {len(seen.losses)} times for a batch")
            if seen.losses[0].numel() != 1:
                raise NotUnderstood("backward() is called for more than one number")
    if shapes.compare_rows(computed):
        raise NotUnderstood("what it computes compares the rows of a batch with each other")
    return compare(runs, repeated.bits, counting.knows_values)
