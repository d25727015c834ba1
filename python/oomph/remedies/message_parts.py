"""Messages of a graph network computed for a part of the edges at a time, and again in the backward pass.

A layer of PyTorch Geometric computes a message for each edge and sums the messages that come to each node. All messages
at once are as large as the edges are many; a part of them is summed as well, and the sums of all parts are the whole sum.
"""

from __future__ import annotations

import functools
import inspect
import sys
from collections.abc import Iterator
from types import ModuleType
from typing import Any

from . import chunking, models, recomputing
from .desk import Desk

#: How a layer may put messages together: what becomes of sums over parts is known for these.
_SUMS, _MEANS = "SumAggregation", "MeanAggregation"
#: Hooks of a layer that would be called once for each part.
_HOOKS = ("_propagate_forward_pre_hooks", "_propagate_forward_hooks", "_message_forward_pre_hooks",
          "_message_forward_hooks", "_aggregate_forward_pre_hooks", "_aggregate_forward_hooks")


def message_parts(model: Any, parts: int) -> list[str]:
    """Makes the message passing layers of a model compute so many parts of their edges; returns their paths.

    All layers of the same classes do so from then on. A layer that cannot computes all its edges at once, as before.
    """
    found = dict(layers(model))
    for layer in found.values():
        _divide(type(layer), parts, None)
    return list(found)


def install(torch: ModuleType, desk: Desk, parts: int = 4) -> None:
    """Does so with every model that the script calls."""

    def before_first(model: Any) -> None:
        for _path, layer in layers(model):
            _divide(type(layer), parts, desk)

    desk.calls.before_first_of_all(before_first)


def layers(model: Any) -> Iterator[tuple[str, Any]]:
    """The message passing layers of a model by their paths, if it has any."""
    library = sys.modules.get("torch_geometric.nn.conv.message_passing")
    if library is not None:
        yield from ((path, module) for path, module in model.named_modules() if isinstance(module, library.MessagePassing))


def _divide(kind: Any, parts: int, desk: Desk | None) -> None:
    """Tells the class, not the layer: a function in a layer's own dictionary could be neither copied nor pickled."""
    original = kind.propagate
    if getattr(original, "_oomph_parts", False):
        return

    @functools.wraps(original)
    def propagate(self: Any, edge_index: Any, size: Any = None, **kwargs: Any) -> Any:
        why = _why_whole(self, edge_index, kwargs, parts)
        if desk is not None and why is not None:
            desk.refuse(f"{kind.__name__} computes all messages at once: {why}.")
        if why is not None or type(self) is not kind:
            return original(self, edge_index, size=size, **kwargs)
        if desk is not None:
            desk.applied(layer=kind.__name__, parts=parts)
        return _in_parts(self, original, edge_index, size, kwargs, parts)

    propagate._oomph_parts = True  # type: ignore[attr-defined]
    kind.propagate = propagate


def _why_whole(layer: Any, edge_index: Any, kwargs: dict[str, Any], parts: int) -> str | None:
    """What stands against parts, in a phrase."""
    import torch
    from torch_geometric.nn import MessagePassing

    taken = inspect.signature(layer.message).parameters
    kind = type(layer)
    if type(edge_index) is not torch.Tensor or edge_index.shape[-1] < parts:
        return "its edges are not a plain tensor with enough of them"
    if type(layer.aggr_module).__name__ not in (_SUMS, _MEANS):
        return "it does not put messages together by a sum or a mean"
    if kind.aggregate is not MessagePassing.aggregate or kind.update is not MessagePassing.update:
        return "it has a way of its own to put messages together"
    if not any(name[-2:] in ("_i", "_j") for name in taken) or any(name in layer.special_args for name in taken):
        return "a message depends on those of other edges"
    if layer.explain or layer.decomposed_layers != 1 or any(getattr(layer, hooks) for hooks in _HOOKS):
        return "something else looks at its messages"
    if chunking.mixes_samples(layer):
        return "the statistics of its batch norms are of all messages"
    return "torch.func transforms it" if models.is_transformed() else None


def _in_parts(layer: Any, original: Any, edge_index: Any, size: Any, kwargs: dict[str, Any], parts: int) -> Any:
    import torch

    count = edge_index.shape[1]
    step = -(-count // parts)
    by_edge = _by_edge(layer, kwargs, count)

    def summed(edges: Any, size: Any, **kwargs: Any) -> Any:
        with _Sums(layer):
            return original(layer, edges, size=size, **kwargs)

    total = None
    for start in range(0, count, step):
        stop = min(start + step, count)
        mine = {name: value[start:stop] if name in by_edge else value for name, value in kwargs.items()}
        part = (edge_index[:, start:stop], size)
        if torch.is_grad_enabled():
            result = recomputing.recompute(summed, part, mine, layer.modules())
        else:
            result = summed(*part, **mine)
        total = result if total is None else total.add_(result)
    if type(layer.aggr_module).__name__ == _MEANS:
        total = total / _degrees(layer, edge_index, total)
    return total


def _by_edge(layer: Any, kwargs: dict[str, Any], count: int) -> set[str]:
    """What messages take as it is, and not by the node at either end: one row for each edge."""
    taken = inspect.signature(layer.message).parameters
    given = {name: value for name, value in kwargs.items() if name in taken and getattr(value, "shape", ())}
    return {name for name, value in given.items() if value.shape[0] == count}


def _degrees(layer: Any, edge_index: Any, total: Any) -> Any:
    """How many messages come to each node, in the shape of what is divided by it."""
    import torch

    at = edge_index[1 if layer.flow == "source_to_target" else 0]
    nodes = total.shape[layer.node_dim]
    counts = torch.zeros(nodes, dtype=total.dtype, device=total.device)
    counts.scatter_add_(0, at, torch.ones_like(at, dtype=total.dtype))
    shape = [1] * total.dim()
    shape[layer.node_dim] = nodes
    return counts.clamp_(min=1).view(shape)


class _Sums:
    """A layer that takes sums of messages for the moment, not means: a mean of parts would need their weights."""

    def __init__(self, layer: Any) -> None:
        self._layer = layer
        self._before = layer.aggr_module

    def __enter__(self) -> None:
        from torch_geometric.nn.aggr import SumAggregation

        if type(self._before) is not SumAggregation:
            self._layer.aggr_module = SumAggregation()

    def __exit__(self, *_error: object) -> None:
        self._layer.aggr_module = self._before
