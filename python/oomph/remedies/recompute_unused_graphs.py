"""Inference without `no_grad`: graphs that nobody uses are recomputed if somebody does.

Instead of taking the graph away, which would be wrong if the script needs it after all, the model call keeps its inputs
alone, on the host. A backward pass through it computes it again: a wrong guess costs time, once, and then the model's
calls are plain again.
"""

from __future__ import annotations

import weakref
from collections.abc import Callable
from types import ModuleType
from typing import Any

from . import models, recomputing, trials
from .desk import Desk

#: So many calls without any backward pass through them say that the graphs are not used, where an optimizer exists.
WATCHED_CALLS = 8
#: How much of the inputs is kept, on the host, for graphs that the script still has.
KEPT_BYTES = 2**30


def recompute_unused_graphs(model: Any) -> None:
    """Keeps nothing of a model's calls but their inputs, until a backward pass goes through one of them."""
    _around(model, lambda: True, lambda **_facts: None, lambda _sentence: None)


def install(torch: ModuleType, desk: Desk) -> None:
    """Does so with every model that is in evaluation mode, or whose graphs nobody has used for some calls."""
    optimizers = _Optimizers(torch)

    def before_first(model: Any) -> None:
        if not models.in_backward() and any(True for _ in model.parameters()):
            _around(model, lambda: not model.training or not optimizers.exist, desk.applied, desk.refuse)

    desk.calls.before_first(before_first)


class _Optimizers:
    """Whether the script has made any."""

    def __init__(self, torch: ModuleType) -> None:
        self.exist = False
        base = torch.optim.Optimizer
        original = base.__init__

        def __init__(optimizer: Any, *args: Any, **kwargs: Any) -> None:
            self.exist = True
            original(optimizer, *args, **kwargs)

        __init__.__wrapped__ = original  # type: ignore[attr-defined]
        base.__init__ = __init__


def _around(
    model: Any, is_inference: Callable[[], bool], applied: Callable[..., None], refuse: Callable[[str], None]
) -> None:
    root = models.unwrapped(model)
    if hasattr(model, "_orig_mod"):
        refuse(f"{type(root).__name__} is compiled: its graphs are kept")
    elif not models.around_forward(root, _Root(root, is_inference, applied, refuse)):
        refuse(f"the graphs of {type(root).__name__} are kept: something else has replaced its forward")


class _Root:
    """Stands around the forward of a model."""

    def __init__(
        self, root: Any, is_inference: Callable[[], bool], applied: Callable[..., None], refuse: Callable[[str], None]
    ) -> None:
        self._root = weakref.ref(root)
        self._name = type(root).__name__
        self._is_inference = is_inference
        self._applied = applied
        self._refuse = refuse
        #: Of training and of evaluation, which are told apart by the model's mode.
        self._unused_calls = {True: 0, False: 0}
        self._is_used = {True: False, False: False}
        self._can_be_recomputed: bool | None = None
        self._kept = _KeptInputs()

    def __call__(self, call: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        import torch

        root = self._root()
        mode = root.training
        if self._is_used[mode] or self._can_be_recomputed is False:
            return call(*args, **kwargs)
        if not torch.is_grad_enabled() or models.is_transformed():
            return call(*args, **kwargs)
        if recomputing.inside_recomputed_call() or recomputing.recomputed_by_script():
            return call(*args, **kwargs)
        if not self._is_inference() and self._unused_calls[mode] < WATCHED_CALLS:
            return self._watched(call(*args, **kwargs), mode)
        if self._can_be_recomputed is None:
            self._try(root, call, args, kwargs)
            return self(call, args, kwargs)
        return self._recomputed(root, call, args, kwargs)

    def _watched(self, output: Any, mode: bool) -> Any:
        """Learns of a backward pass through the graph of a plain call."""
        self._unused_calls[mode] += 1
        for tensor in models.tensors_in(output):
            if tensor.grad_fn is not None:
                tensor.grad_fn.register_prehook(lambda _gradients: self._use(mode))
        return output

    def _use(self, mode: bool) -> None:
        self._is_used[mode] = True

    def _try(self, root: Any, call: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        self._can_be_recomputed = False
        try:
            trial = trials.attempt(root, call, args, kwargs, with_graph=False)
        except Exception as error:
            self._refuse(f"the graphs of {self._name} are kept: a trial failed ({type(error).__name__}: {error})")
            return
        if trial.changes:
            self._refuse(f"the graphs of {self._name} are kept: calling it changes {trial.changes}")
            return
        self._can_be_recomputed = True
        self._applied(model=self._name)

    def _recomputed(self, root: Any, call: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        import torch

        mode = root.training

        def watched(*args: Any, **kwargs: Any) -> Any:
            if models.in_backward():
                self._use(mode)
                self._refuse(f"the graphs of {self._name} are used after all: its calls are plain from now on")
            return call(*args, **kwargs)

        with torch.autograd.graph.saved_tensors_hooks(self._kept.pack, self._kept.unpack):
            return recomputing.recompute(watched, args, kwargs, root.modules())


class _Kept:
    """A tensor on the host; None if there were too many."""

    __slots__ = ("__weakref__", "device", "values")

    def __init__(self, values: Any, device: Any) -> None:
        self.values = values
        self.device = device


class _KeptInputs:
    """The inputs of calls whose graphs the script still has."""

    def __init__(self) -> None:
        self._bytes = 0

    def pack(self, tensor: Any) -> Any:
        """Moves a tensor to the host."""
        import torch

        if isinstance(tensor, torch.nn.Parameter) or tensor.device.type == "cpu":
            return tensor
        size_bytes = tensor.numel() * tensor.element_size()
        if self._bytes + size_bytes > KEPT_BYTES:
            # A plain run would have all these graphs on the card: whoever keeps so many does not use them.
            return _Kept(None, tensor.device)
        kept = _Kept(tensor.detach().to("cpu"), tensor.device)
        self._bytes += size_bytes
        weakref.finalize(kept, self._release, size_bytes)
        return kept

    def unpack(self, kept: Any) -> Any:
        """Moves it back."""
        if not isinstance(kept, _Kept):
            return kept
        if kept.values is None:
            raise RuntimeError(
                "oomph's remedy recompute_unused_graphs: the inputs of this call were not kept, because the graphs of "
                "many calls before it were not used. Run without recompute_unused_graphs."
            )
        return kept.values.to(kept.device)

    def _release(self, size_bytes: int) -> None:
        self._bytes -= size_bytes
