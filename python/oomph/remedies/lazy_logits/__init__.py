"""A vocabulary projection that computes logits only if something but the loss asks for them."""

from __future__ import annotations

import weakref
from collections.abc import Callable
from types import ModuleType
from typing import Any

from .. import models
from ..desk import Desk

#: How large the buffers of a chunk of logits become.
CHUNK_BYTES = 128 * 2**20
_told_optimizers: list[bool] = []


def lazy_logits(model: Any, row_bytes: int = CHUNK_BYTES) -> list[str]:
    """Keeps the logits of a language model from existing all at once; returns the paths of the projections.

    `nn.Linear` modules with many more outputs than inputs return a tensor that becomes logits when it is used, in
    training and wherever no graph is kept. `cross_entropy` uses it by chunks of rows, of at most `row_bytes` each.
    """
    return _make_lazy(model, row_bytes, lambda _sentence: None, lambda _sentence: None)


def install(torch: ModuleType, desk: Desk, row_bytes: int = CHUNK_BYTES) -> None:
    """Makes the projections of every model lazy that the script calls."""

    def before_first(model: Any) -> None:
        if models.in_backward():
            return
        for path in _make_lazy(model, row_bytes, desk.note, desk.refuse):
            desk.applied(projection=path)

    desk.calls.before_first_of_all(before_first)


def _make_lazy(model: Any, chunk_bytes: int, note: Callable[[str], None], refuse: Callable[[str], None]) -> list[str]:
    root = models.unwrapped(model)
    found = list(models.vocabulary_projections(root))
    if not found:
        if any(True for _ in root.parameters()):
            refuse(f"{type(root).__name__} has no projection to a vocabulary")
        return []
    if _is_compiled(model):
        refuse(f"{type(root).__name__} is compiled: its logits are computed as the compiler sees fit")
        return []
    _watch_optimizers()
    done = []
    for path in found:
        head = root.get_submodule(path)
        if models.around_forward(head, _Head(head, chunk_bytes, note)):
            done.append(path)
        else:
            refuse(f"projection {path} stays as it is: something else has replaced its forward")
    return done


def _is_compiled(model: Any) -> bool:
    """Whether it is compiled as a whole; dynamo cannot look into a call that makes tensors of another class."""
    while model is not None:
        if hasattr(model, "_orig_mod") or getattr(model, "_compiled_call_impl", None) is not None:
            return True
        model = getattr(model, "module", None)
    return False


def _watch_optimizers() -> None:
    from torch.optim.optimizer import register_optimizer_step_pre_hook

    from .projection import keep_weights_of

    if not _told_optimizers:
        _told_optimizers.append(True)
        register_optimizer_step_pre_hook(keep_weights_of)


class _Head:
    """Stands around the forward of one projection."""

    def __init__(self, head: Any, chunk_bytes: int, note: Callable[[str], None]) -> None:
        self._head = weakref.ref(head)
        self._chunk_bytes = chunk_bytes
        self._note = note
        #: Whether something but the loss has asked for logits of a call without a graph: it will do so again.
        self._is_asked_for = False

    def __call__(self, call: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        from .projection import Projection
        from .tensor import lazy

        head = self._head()
        if not self._is_understood(head, args, kwargs):
            return call(*args, **kwargs)
        projection = Projection(args[0], head.weight, head.bias, self._chunk_bytes, self._on_asked_for)
        return lazy(args[0], projection)

    def _on_asked_for(self, has_graph: bool, sentence: str) -> None:
        self._note(sentence)
        self._is_asked_for = self._is_asked_for or not has_graph

    def _is_understood(self, head: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> bool:
        import torch

        plain = (torch.Tensor, torch.nn.Parameter)
        if len(args) != 1 or kwargs or models.is_transformed():
            return False
        tensors = [args[0], head.weight] + ([] if head.bias is None else [head.bias])
        return (
            all(type(tensor) in plain for tensor in tensors)
            and self._is_worthwhile(head, tensors)
            and args[0].dim() >= 2
            and args[0].is_floating_point()
            and not torch.jit.is_tracing()
        )

    def _is_worthwhile(self, head: Any, tensors: list[Any]) -> bool:
        import torch

        if torch.is_grad_enabled():
            return head.training and any(tensor.requires_grad for tensor in tensors)
        hidden, weight = tensors[:2]
        logits_bytes = hidden.numel() // hidden.shape[-1] * weight.shape[0] * hidden.element_size()
        # Of inference tensors nobody knows whether they were changed.
        return logits_bytes > self._chunk_bytes and not self._is_asked_for and not weight.is_inference()
