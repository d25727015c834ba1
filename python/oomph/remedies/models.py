"""What a model is made of, as far as remedies care."""

from __future__ import annotations

import dataclasses
import functools
import inspect
import itertools
import math
import weakref
from collections.abc import Callable, Iterable, Iterator, Mapping
from types import FunctionType
from typing import Any


def unwrapped(model: Any) -> Any:
    """The user's own module inside what torch, DDP or a library has put around it."""
    while True:
        inner = getattr(model, "_orig_mod", None)
        if inner is None and type(model).__name__ in ("DistributedDataParallel", "DataParallel"):
            inner = getattr(model, "module", None)
        if inner is None:
            return model
        model = inner


def records_graphs() -> bool:
    """Whether a call made now is one whose graph autograd records: not one that the backward pass makes again."""
    import torch

    return torch.is_grad_enabled() and not in_backward()


def repeated_blocks(model: Any) -> dict[str, Any]:
    """The outermost modules that come several times, by path: a transformer's layers, a ResNet's stages.

    Those in lists and sequences come first. Then there are models that name each of their parts (`conv1`, `conv2`).
    """
    from torch import nn

    containers = (nn.ModuleList, nn.Sequential)
    found: dict[str, Any] = {}
    for is_listed in (True, False):
        for path, module in model.named_modules():
            if isinstance(module, containers) is is_listed and not _is_inside(path, found):
                found |= _alike(path, module, found, () if is_listed else (*containers, nn.ModuleDict))
    return found


def _alike(path: str, module: Any, found: Mapping[str, Any], passed_over: tuple[Any, ...]) -> dict[str, Any]:
    """The children of a module that have parts and are of one class with another child."""
    kinds = [type(child) for child in module.children()]
    alike = {}
    for name, child in module.named_children():
        has_parts = any(True for _ in child.children()) and any(True for _ in child.parameters())
        child_path = f"{path}.{name}" if path else name
        is_around = any(other.startswith(f"{child_path}.") for other in found)
        if has_parts and kinds.count(type(child)) > 1 and not is_around and not isinstance(child, passed_over):
            alike[child_path] = child
    return alike


def _is_inside(path: str, found: Mapping[str, Any]) -> bool:
    return any(path == outer or path.startswith(f"{outer}.") for outer in found)


#: A plain sequence is divided if it has as many layers with weights: fewer keep little but each other's inputs.
LAYERS_TO_DIVIDE = 3


def blocks(model: Any) -> dict[str, Any]:
    """What of a model can be recomputed, by path: repeated blocks, or else runs of layers, each a list."""
    return repeated_blocks(model) or _runs_of_layers(model)


def run_at(model: Any, path: str) -> list[Any] | None:
    """The layers of a run by its path: `main.3:6` are those of the sequence `main` from 3 up to 6."""
    from torch import nn

    around, _, ends = path.rpartition(".")
    first, colon, end = ends.partition(":")
    sequence = dict(model.named_modules()).get(around)
    if not (colon and first.isdecimal() and end.isdecimal() and isinstance(sequence, nn.Sequential)):
        return None
    return list(sequence)[int(first) : int(end)]


def _runs_of_layers(model: Any) -> dict[str, list[Any]]:
    """The layers of plain sequences in runs: about as many runs as there are layers with weights in each of them.

    Every run begins with a layer with weights: what works in place comes later, and changes only what is the run's own.
    """
    from torch import nn

    found = {}
    for path, module in model.named_modules():
        if not isinstance(module, nn.Sequential) or not has_forward_of(module, nn.Sequential):
            continue
        layers = list(module)
        # A norm has weights of one dimension, which is no reason to begin another run.
        weighty = [at for at, layer in enumerate(layers) if any(one.dim() > 1 for one in layer.parameters())]
        if len(weighty) < LAYERS_TO_DIVIDE:
            continue
        in_each = math.isqrt(len(weighty) - 1) + 1
        starts = [*weighty[::in_each], len(layers)]
        for first, end in itertools.pairwise(starts):
            if end - first > 1:
                found[f"{path}.{first}:{end}" if path else f"{first}:{end}"] = layers[first:end]
    return found


#: A projection with fewer classes has logits that are not worth much.
VOCABULARY = 8192
#: A projection is wider than what it projects by as much at least; one of a block, in the middle of a model, is too.
WIDER = 2


def vocabulary_projections(model: Any) -> dict[str, Any]:
    """The linear layers onto a vocabulary, by path: wide ones that are no part of a repeated block."""
    from torch import nn

    blocks = tuple(f"{path}." for path in repeated_blocks(model))
    return {
        path: module
        for path, module in model.named_modules()
        if isinstance(module, nn.Linear)
        and has_forward_of(module, nn.Linear)
        and module.out_features >= max(VOCABULARY, WIDER * module.in_features)
        and not path.startswith(blocks)
    }


#: What stands around the forward of a module: called with the plain forward, its arguments and its keyword arguments.
Handler = Callable[[Callable[..., Any], tuple[Any, ...], dict[str, Any]], Any]

#: The handlers of modules, outermost last. A copy of a module has none: it is another model.
_handlers: weakref.WeakKeyDictionary[Any, list[Handler]] = weakref.WeakKeyDictionary()
#: Marks a module whose forward is recomputed by the graph that `torch.compile` makes of it.
_COMPILED_MARK = "_oomph_recomputed_when_compiled"


def around_forward(module: Any, handler: Handler, recomputed_when_compiled: bool = False) -> bool:
    """Puts a handler around the forward of one module; says whether that is possible.

    The class is told, not the instance: a function in the module's own dictionary would be copied by `deepcopy` (an EMA
    of the model would call the model itself) and could not be pickled. Under `torch.compile` handlers are not asked.
    """
    kind = type(module)
    if "forward" in vars(module) or kind.__hash__ is None:
        return False
    if recomputed_when_compiled:
        setattr(module, _COMPILED_MARK, True)
    _handlers.setdefault(module, []).append(handler)
    if getattr(vars(kind).get("forward"), "_oomph_around", False):
        return True
    kind.forward = _forward_around(kind)
    return True


def _forward_around(kind: Any) -> Any:
    """The forward of a class, for instances with and without handlers."""
    import torch
    from torch.utils.checkpoint import checkpoint

    original = kind.forward
    is_compiling = torch.compiler.is_compiling
    handlers_by_module, mark, partial, handled = _handlers, _COMPILED_MARK, functools.partial, _handled

    def forward(self: Any, *args: Any, **kwargs: Any) -> Any:
        if is_compiling():
            if type(self) is kind and getattr(self, mark, False):
                return checkpoint(original, self, *args, use_reentrant=False, **kwargs)
            return original(self, *args, **kwargs)
        # A subclass that calls its parent's forward has been through its own already.
        handlers = handlers_by_module.get(self) if type(self) is kind else None
        if not handlers:
            return original(self, *args, **kwargs)
        call = partial(original, self)
        for handler in handlers:
            call = partial(handled, handler, call)
        return call(*args, **kwargs)

    # `torch.jit.script` compiles the original's text, and looks its names up among the globals of what it was given.
    names = getattr(original, "__globals__", globals())
    around = FunctionType(forward.__code__, names, "forward", None, forward.__closure__)
    functools.update_wrapper(around, original)
    around._oomph_around = True  # type: ignore[attr-defined]
    return around


def has_forward_of(module: Any, kind: type[Any]) -> bool:
    """Whether a module computes what a class computes, whatever a remedy has put around it."""
    return inspect.unwrap(type(module).forward) is inspect.unwrap(kind.forward)


def _handled(handler: Handler, call: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
    return handler(call, args, kwargs)


def tensors_in(value: Any, depth: int = 4) -> Iterator[Any]:
    """The tensors in a value made of lists, tuples, dictionaries and objects that are dictionaries or dataclasses."""
    import torch

    if isinstance(value, torch.Tensor):
        yield value
    elif depth:
        if isinstance(value, Mapping):
            parts: Iterable[Any] = value.values()
        elif isinstance(value, (list, tuple, set, frozenset)):
            parts = value
        elif dataclasses.is_dataclass(value) and not isinstance(value, type):
            parts = [getattr(value, field.name) for field in dataclasses.fields(value)]
        else:
            return
        for part in parts:
            yield from tensors_in(part, depth - 1)


def in_backward() -> bool:
    """Whether autograd's engine is running on this thread: a module that is called now is called to recompute."""
    import torch

    return bool(torch._C._current_graph_task_id() != -1)


def is_transformed() -> bool:
    """Whether this runs inside `torch.func`: `grad`, `vmap` and the like allow no hooks on what autograd saves."""
    import torch

    return torch._C._functorch.peek_interpreter_stack() is not None
