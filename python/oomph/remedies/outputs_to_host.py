"""Results of the model that the script keeps for long leave the card, and come back when they are used.

The script's tensor stays the same object and says that it is on the card. Its memory is given back, and its class
becomes one that hears of every use: the first one takes the memory again, copies the values back and makes it a plain
tensor.
"""

from __future__ import annotations

import weakref
from collections import deque
from collections.abc import Callable, Iterable
from types import ModuleType
from typing import Any

from . import models
from .desk import Desk

#: A result that is alive after so many later calls of the model is kept for long.
LATER_CALLS = 8


def outputs_to_host(model: Any, later_calls: int = LATER_CALLS) -> None:
    """Moves results of a model to the host that are still there after so many later calls of it."""
    _around(model, later_calls, ("cuda",), lambda **_facts: None, lambda _sentence: None)


def install(
    torch: ModuleType, desk: Desk, later_calls: int = LATER_CALLS, device_types: Iterable[str] = ("cuda",)
) -> None:
    """Does so with every model that the script calls."""

    def before_first(model: Any) -> None:
        if not models.in_backward() and any(True for _ in model.parameters()):
            _around(model, later_calls, tuple(device_types), desk.applied, desk.refuse)

    desk.calls.before_first(before_first)


def _around(
    model: Any,
    later_calls: int,
    device_types: tuple[str, ...],
    applied: Callable[..., None],
    refuse: Callable[[str], None],
) -> None:
    root = models.unwrapped(model)
    if hasattr(model, "_orig_mod"):
        refuse(f"{type(root).__name__} is compiled: its results stay on the card")
    elif not models.around_forward(root, _Results(type(root).__name__, later_calls, device_types, applied)):
        refuse(f"the results of {type(root).__name__} stay on the card: something else has replaced its forward")


class _Results:
    """Stands around the forward of a model, and remembers its latest results without keeping them alive."""

    def __init__(
        self, name: str, later_calls: int, device_types: tuple[str, ...], applied: Callable[..., None]
    ) -> None:
        self._name = name
        self._later_calls = later_calls
        self._device_types = device_types
        self._applied = applied
        self._latest: deque[list[weakref.ref[Any]]] = deque()

    def __call__(self, call: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        import torch

        result = call(*args, **kwargs)
        if models.in_backward() or models.is_transformed():
            return result
        tensors = [tensor for tensor in models.tensors_in(result) if type(tensor) is torch.Tensor]
        self._latest.append([weakref.ref(tensor) for tensor in tensors if tensor.device.type in self._device_types])
        if len(self._latest) > self._later_calls:
            for reference in self._latest.popleft():
                tensor = reference()
                if tensor is not None and self._leave(tensor):
                    self._applied(model=self._name)
        return result

    def _leave(self, tensor: Any) -> bool:
        """Moves one to the host, if nothing else has to do with its memory: no view, no graph, no other tensor."""
        import torch

        if type(tensor) is not torch.Tensor or not tensor.numel() or tensor.is_inference():
            return False
        storage = tensor.untyped_storage()
        # One is the tensor's, one is the storage's that was asked for here.
        if torch._C._storage_Use_Count(storage._cdata) > 2 or not storage.resizable():
            return False
        values = torch.empty(0, dtype=torch.uint8).set_(torch.UntypedStorage(storage.nbytes()))
        on_card = torch.empty(0, dtype=torch.uint8, device=tensor.device).set_(storage)
        values.copy_(on_card)
        del on_card
        storage.resize_(0)
        tensor.__class__ = _on_host_class()
        tensor._oomph_values = values
        return True


_made: list[Any] = []


def _on_host_class() -> Any:
    """Made at the first use: this module is imported before torch is."""
    if not _made:
        _made.append(_make_class())
    return _made[0]


def _make_class() -> Any:
    import torch
    from torch.utils._pytree import tree_map

    about = {getattr(torch.Tensor, name).__get__ for name in "shape dtype device requires_grad ndim is_cuda".split()}
    about |= {torch.Tensor.size, torch.Tensor.dim, torch.Tensor.numel, torch.Tensor.stride, torch.Tensor.__len__}
    about |= {torch.Tensor.grad_fn.__get__, torch.Tensor.is_leaf.__get__, torch.Tensor.element_size}

    class OutputOnHost(torch.Tensor):
        """A tensor of the card whose values are on the host."""

        @classmethod
        def __torch_function__(cls, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
            """Whatever needs the values brings them back first."""
            kwargs = kwargs or {}
            if func in about:
                with torch._C.DisableTorchFunctionSubclass():
                    return func(*args, **kwargs)
            tree_map(_come_back, (args, kwargs))
            return func(*args, **kwargs)

    return OutputOnHost


def _come_back(value: Any) -> Any:
    import torch

    if isinstance(value, _on_host_class()):
        values = value.__dict__.pop("_oomph_values")
        value.__class__ = torch.Tensor
        storage = value.untyped_storage()
        storage.resize_(values.numel())
        torch.empty(0, dtype=torch.uint8, device=value.device).set_(storage).copy_(values)
    return value
