"""Structured pruning, through Torch-Pruning: whole channels are taken out of layers, so that their bytes really go."""

from __future__ import annotations

import copy
import functools
import importlib
import weakref
from collections.abc import Iterable, Iterator
from types import ModuleType
from typing import Any

from . import models, optimized, sizes
from .desk import Desk
from .micro_batches import splitting


class _Unfit(Exception):
    """Why a model cannot be pruned, in a sentence."""


def prune(
    model: Any, example_inputs: Any, ratio: float = 0.5, keep: Iterable[str] = (), round_to: int | None = None
) -> int:
    """Takes a share of the channels out of every layer that allows it, in place; returns the bytes that saves.

    Those with the smallest weights go. Layers that make the model's output keep their size, and so do the layers named
    in `keep` (paths). `example_inputs` are arguments of a call: a tensor, a tuple or a dictionary of named ones; a few
    rows are enough. Channels stay a multiple of `round_to`. Call it before the optimizer is made, and train on
    afterwards: the model is another one. Needs Torch-Pruning.
    """
    try:
        return _prune(model, example_inputs, ratio, keep, round_to)
    except _Unfit as why:
        raise ValueError(f"prune: {why}") from why


def install(
    torch: ModuleType, desk: Desk, ratio: float = 0.5, keep: Iterable[str] = (), round_to: int | None = None
) -> None:
    """Does it to every model that has an optimizer, right before its first call: the arguments are known then."""
    base, known = torch.optim.Optimizer, weakref.WeakSet[Any]()
    original = base.__init__

    @functools.wraps(original)
    def __init__(self: Any, params: Any, *args: Any, **kwargs: Any) -> None:
        groups = optimized.as_lists(params)
        original(self, groups, *args, **kwargs)
        for root in optimized.roots_of(optimized.tensors_of(groups), known):
            known.update(root.modules())
            _before_first_call(root, lambda given, root=root: pruned(root, given, weakref.ref(self)))

    def pruned(root: Any, given: Any, optimizer: weakref.ref[Any]) -> None:
        name, before = type(root).__name__, sizes.model_bytes(root)
        taker = optimizer()
        old = list(root.named_parameters(remove_duplicate=False))
        try:
            if taker is not None and any(taker.state.values()):
                raise _Unfit("its optimizer has taken steps already.")
            saved_bytes = _prune(root, given, ratio, keep, round_to)
        except _Unfit as why:
            desk.refuse(f"{name} keeps its channels: {why}")
            return
        if taker is not None:
            _give_new_parameters(taker, root, old)
        after = before - saved_bytes
        desk.applied(model=name, ratio=ratio, bytes_before=before, bytes_after=after, saved_bytes=saved_bytes)

    base.__init__ = __init__


def _before_first_call(root: Any, do: Any) -> None:
    def hook(module: Any, args: Any, kwargs: Any) -> None:
        handle.remove()
        if module is root:
            do({**kwargs} if kwargs and not args else args)

    handle = root.register_forward_pre_hook(hook, with_kwargs=True)


def _give_new_parameters(optimizer: Any, root: Any, old: list[tuple[str, Any]]) -> None:
    new = dict(root.named_parameters(remove_duplicate=False))
    places = {id(parameter): new[path] for path, parameter in old}
    for group in optimizer.param_groups:
        group["params"] = [places.get(id(parameter), parameter) for parameter in group["params"]]


def _prune(model: Any, example_inputs: Any, ratio: float, keep: Iterable[str], round_to: int | None) -> int:
    """Prunes a copy; only if that computes, its parts take the place of the model's."""
    import torch

    if not 0 < ratio < 1:
        raise ValueError(f"ratio must be between 0 and 1, not {ratio}")
    try:
        pruning = importlib.import_module("torch_pruning")
    except ImportError:
        raise _Unfit("it needs Torch-Pruning (pip install torch-pruning), which is not installed.") from None
    root = models.unwrapped(model)
    inputs, before = _few_rows(example_inputs), sizes.model_bytes(root)
    smaller = copy.deepcopy(root).eval()
    try:
        with torch.enable_grad():
            shapes, last = _last_layers(smaller, inputs)
            importance = pruning.importance.GroupMagnitudeImportance(p=2)
            ignored = [*last, *(smaller.get_submodule(path) for path in keep)]
            pruning.pruner.MetaPruner(
                smaller, inputs, importance, pruning_ratio=ratio, ignored_layers=ignored, round_to=round_to
            ).step()
        with torch.no_grad():
            kept_shapes = [tensor.shape for tensor in _outputs(smaller, inputs)]
    except Exception as problem:  # a model that Torch-Pruning cannot trace, or one that has its sizes written down
        raise _Unfit(f"with fewer channels it does not compute ({type(problem).__name__}: {problem}).") from problem
    if kept_shapes != shapes:
        raise _Unfit("with fewer channels its output has another size.")
    if sizes.model_bytes(smaller) >= before:
        raise _Unfit("no layer allows it.")
    _take_over(root, smaller)
    return before - sizes.model_bytes(root)


def _few_rows(inputs: Any) -> Any:
    """Two rows of a batch show as much as all of them."""
    rows = splitting.rows_of(inputs)
    return splitting.pick(inputs, rows, [0, rows.count - 1]) if rows is not None and rows.count > 2 else inputs


def _outputs(model: Any, inputs: Any) -> list[Any]:
    if isinstance(inputs, dict):
        return list(models.tensors_in(model(**inputs)))
    return list(models.tensors_in(model(*inputs) if isinstance(inputs, (list, tuple)) else model(inputs)))


def _last_layers(model: Any, inputs: Any) -> tuple[list[Any], list[Any]]:
    """The shapes of the output, and the layers with no other layer between them and it: they decide its size."""
    from torch import nn

    made_by: dict[Any, Any] = {}
    kinds = (nn.Linear, nn.modules.conv._ConvNd)

    def note(layer: Any, _args: Any, out: Any) -> None:
        made_by[out.grad_fn] = layer

    hooks = [layer.register_forward_hook(note) for layer in model.modules() if isinstance(layer, kinds)]
    try:
        outputs = _outputs(model, inputs)
    finally:
        for hook in hooks:
            hook.remove()
    found, seen = [], set()
    waiting = [tensor.grad_fn for tensor in outputs if tensor.grad_fn is not None]
    while waiting:
        node = waiting.pop()
        if node in seen:
            continue
        seen.add(node)
        if node in made_by:
            found.append(made_by[node])
        else:
            waiting += [following for following, _ in node.next_functions if following is not None]
    return [tensor.shape for tensor in outputs], found


def _take_over(root: Any, smaller: Any) -> None:
    """Gives the modules of a model the tensors and the sizes of those of another."""
    for module, other in _pairs(root, smaller):
        for name, parameter in other._parameters.items():
            if parameter is not None:
                parameter.requires_grad_(module._parameters[name].requires_grad)
                parameter.grad = None
            module._parameters[name] = parameter
        module._buffers.update(other._buffers)
        for name, value in vars(other).items():
            if name != "training" and isinstance(value, (int, tuple)) and vars(module).get(name) != value:
                setattr(module, name, value)


def _pairs(root: Any, smaller: Any) -> Iterator[tuple[Any, Any]]:
    others = dict(smaller.named_modules())
    return ((module, others[path]) for path, module in root.named_modules())
