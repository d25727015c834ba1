"""One call of the vocabulary projection whose logits have not been computed."""

from __future__ import annotations

import weakref
from collections.abc import Callable
from typing import Any

import torch
from torch.nn import functional

#: All that may still be asked for their logits.
_live: weakref.WeakSet[Projection] = weakref.WeakSet()


class Projection:
    """The weights as they are now, and how the logits would be computed from hidden states."""

    def __init__(
        self,
        hidden: Any,
        weight: Any,
        bias: Any,
        chunk_bytes: int,
        on_asked_for: Callable[[bool, str], None],
        like: Projection | None = None,
    ) -> None:
        """Under the autocast and grad mode of now, or those of another projection by the same weights."""
        device = hidden.device.type
        self.weight = weight
        self.bias = bias
        self.chunk_bytes = chunk_bytes
        self.on_asked_for = on_asked_for
        #: Whether the call of the projection was to be part of a graph.
        self.has_graph = torch.is_grad_enabled() if like is None else like.has_graph
        self.autocast_dtype = torch.get_autocast_dtype(device) if torch.is_autocast_enabled(device) else None
        if like is not None:
            self.autocast_dtype = like.autocast_dtype
        is_cast = self.autocast_dtype is not None and hidden.dtype != torch.float64
        self.dtype = self.autocast_dtype if is_cast else hidden.dtype
        #: The lazy tensors that are made of it, by their id, as long as somebody has them.
        self.members: weakref.WeakValueDictionary[int, Any] = weakref.WeakValueDictionary()
        #: Whether the weights are copies, made right before an optimizer changed them.
        self.is_kept = False
        self._versions = self._versions_now()
        _live.add(self)

    def logits(self, hidden: Any) -> Any:
        """The logits, as the script would have computed them when it called the projection."""
        self._check()
        return linear(hidden, self.weight, self.bias, self.autocast_dtype)

    def note(self, sentence: str) -> None:
        """Tells that something but the loss asked for the logits."""
        self.on_asked_for(self.has_graph, sentence)

    def is_unchanged(self) -> bool:
        """Whether the weights are those with which the projection was called."""
        return not self.is_kept and self._versions == self._versions_now()

    def keep(self, copies: dict[int, Any]) -> None:
        """Copies the weights, which are about to change; `copies` has those of other projections."""
        if not self.is_kept and any(member.is_lazy() for member in list(self.members.values())):
            self._check()
            self.is_kept = True
            self.weight = _copy(self.weight, copies)
            self.bias = None if self.bias is None else _copy(self.bias, copies)

    def _check(self) -> None:
        if not self.is_kept and self._versions != self._versions_now():
            raise RuntimeError(
                "oomph's remedy lazy_logits: the weight of the vocabulary projection was changed in place, outside of "
                "an optimizer, before the logits were read. Read them before, or run without lazy_logits."
            )

    def _versions_now(self) -> list[int]:
        return [tensor._version for tensor in (self.weight, self.bias) if tensor is not None]


def linear(hidden: Any, weight: Any, bias: Any, autocast_dtype: Any) -> Any:
    """The projection under the autocast of the time."""
    is_cast = autocast_dtype is not None
    with torch.autocast(hidden.device.type, dtype=autocast_dtype, enabled=is_cast, cache_enabled=False):
        return functional.linear(hidden, weight, bias)


def keep_weights_of(optimizer: Any, *_arguments: Any) -> None:
    """Logits that the script has and may still look at are those of the weights before the step."""
    if not _live:
        return
    changed = {id(parameter) for group in optimizer.param_groups for parameter in group["params"]}
    copies: dict[int, Any] = {}
    for projection in list(_live):
        if id(projection.weight) in changed or id(projection.bias) in changed:
            projection.keep(copies)


def _copy(tensor: Any, copies: dict[int, Any]) -> Any:
    if id(tensor) not in copies:
        copies[id(tensor)] = tensor.detach().clone()
    return copies[id(tensor)]


class Project(torch.autograd.Function):
    """Makes a lazy tensor part of the graph: code that never asks for logits may still have a gradient of them."""

    @staticmethod
    def forward(ctx: Any, hidden: Any, weight: Any, bias: Any, make: Callable[[], Any], plainly: Any) -> Any:
        """`make` makes the lazy tensor; `plainly` computes what it stands for from the first three."""
        ctx.save_for_backward(hidden, weight, bias)
        ctx.plainly = plainly
        return make()

    @staticmethod
    def backward(ctx: Any, gradient: Any) -> Any:
        """Through what the tensor stands for."""
        is_wanted = ctx.needs_input_grad[:3]
        with torch.enable_grad():
            inputs = [tensor for tensor, wanted in zip(ctx.saved_tensors, is_wanted) if wanted]
            value = ctx.plainly(*ctx.saved_tensors)
        found = iter(torch.autograd.grad(value, inputs, gradient, create_graph=torch.is_grad_enabled()))
        return (*(next(found) if wanted else None for wanted in is_wanted), None, None)
