"""Structured pruning, through Torch-Pruning: whole channels are taken out of layers, so that their bytes really go."""

from __future__ import annotations

import copy
import functools
import importlib
import re
import warnings
import weakref
from collections.abc import Callable, Iterable, Iterator
from types import ModuleType
from typing import Any

from . import models, optimized, sizes
from .deadline import TooLong, at_most
from .desk import Desk
from .micro_batches import splitting


#: Torch-Pruning needs a second or two for most models, and hours for some.
_SECONDS = 60


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
    cut = functools.partial(_smaller, pruning, root, _few_rows(example_inputs), ratio, round_to)
    before, kept = sizes.model_bytes(root), set(keep)
    with warnings.catch_warnings(), torch.enable_grad():
        # What Torch-Pruning warns of, parameters that belong to no layer, is checked here by running the result.
        warnings.simplefilter("ignore")
        try:
            with at_most(_SECONDS):
                smaller = cut(kept)
        except TooLong:
            why = f"Torch-Pruning takes longer than {_SECONDS} s to see which channels belong together."
            raise _Unfit(why) from None
        except Exception as problem:  # a model that it cannot trace, or one that has sizes written down
            smaller = _role_by_role(root, kept, cut)
            if smaller is None or sizes.model_bytes(smaller) >= before:
                why = f"with fewer channels it does not compute ({type(problem).__name__}: {problem})."
                raise _Unfit(why) from problem
    if sizes.model_bytes(smaller) >= before:
        raise _Unfit("no layer allows it.")
    _take_over(root, smaller)
    return before - sizes.model_bytes(root)


def _role_by_role(root: Any, kept: set[str], cut: Callable[[set[str]], Any]) -> Any:
    """Allows one role of layers after the other to lose channels, as long as the model computes: heads of attention
    mostly have their number and size written down, the layers around them do not."""
    roles: dict[str, set[str]] = {}
    for path, module in root.named_modules():
        if isinstance(module, _layer_kinds()):
            roles.setdefault(re.sub(r"\d+", "#", path), set()).add(path)
    held, smaller = set(roles), None
    for role in roles:
        others = (roles[other] for other in held - {role})
        try:
            with at_most(_SECONDS):
                smaller = cut(kept.union(*others))
        except Exception:  # this role keeps its channels
            continue
        held.discard(role)
    return smaller


def _smaller(
    pruning: ModuleType, root: Any, inputs: Any, ratio: float, round_to: int | None, kept: set[str]
) -> Any:
    """A copy with fewer channels, which computes."""
    copied = copy.deepcopy(root).eval()
    shapes, last = _last_layers(copied, inputs)
    pruning.pruner.MetaPruner(
        copied,
        inputs,
        pruning.importance.GroupMagnitudeImportance(p=2),
        pruning_ratio=ratio,
        ignored_layers=[*last, *(copied.get_submodule(path) for path in sorted(kept))],
        round_to=round_to,
        output_transform=lambda out: [tensor for tensor in models.tensors_in(out) if tensor.grad_fn is not None],
    ).step()
    if [tensor.shape for tensor in _outputs(copied, inputs)] != shapes:
        raise _Unfit("its output has another size")
    return copied


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
    made_by: dict[Any, Any] = {}
    kinds = _layer_kinds()

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


def _layer_kinds() -> tuple[Any, ...]:
    from torch import nn

    return nn.Linear, nn.modules.conv._ConvNd


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
