"""Logits that are computed only if something but the loss asks for them.

`LazyLogits` is a tensor with the shape, dtype and device of the logits that holds the hidden states instead. What
training code does on the way to the loss is done to the hidden states, and the cross entropy is computed by chunks of
rows. For anything else it becomes what it stands for, once; views of it become views of that.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from typing import Any

import torch
from torch.nn import functional
from torch.utils._pytree import tree_map

from . import losses
from . import rows as on_rows
from .projection import Project, Projection, linear
from .rows import Rows

_T = torch.Tensor

#: What can be answered without logits.
_ABOUT = {getattr(_T, name).__get__ for name in "shape dtype device requires_grad ndim is_cuda layout grad_fn".split()}
_ABOUT |= {getattr(_T, name) for name in "size dim ndimension numel nelement element_size is_floating_point".split()}
_ABOUT |= {_T.is_complex, _T.__len__, _T.get_device, torch.is_floating_point, torch.is_complex, torch.numel}
_RESHAPES = {_T.view, _T.reshape, _T.flatten, torch.reshape, torch.flatten}
_REARRANGES = {getattr(_T, name) for name in "transpose permute movedim swapaxes swapdims unsqueeze squeeze".split()}
_REARRANGES |= {getattr(torch, function.__name__) for function in _REARRANGES} | {_T.mT.__get__}
_CASTS = {_T.float, _T.double, _T.half, _T.bfloat16, _T.to, _T.type_as, _T.contiguous, _T.clone, torch.clone}
_JOINS = {torch.cat, torch.concat, torch.concatenate}
_LOG_SOFTMAXES = {functional.log_softmax, torch.log_softmax, _T.log_softmax}


class LazyLogits(torch.Tensor):
    """Stands for the logits of a projection."""

    projection: Projection
    rows: Rows
    is_log_softmax: bool
    #: Computes what this stands for, part of the graph.
    _compute: Callable[[], Any]
    _plain: Any
    _data: Any

    @staticmethod
    def __new__(cls, shape: Any, dtype: Any, device: Any) -> LazyLogits:
        """Has no memory of its own."""
        made: LazyLogits = torch.Tensor._make_wrapper_subclass(cls, shape, dtype=dtype, device=device)
        return made

    def is_lazy(self) -> bool:
        """Whether nothing has asked for the logits yet."""
        return self._plain is None

    def plain(self, asked_by: Any = None) -> Any:
        """What this stands for."""
        if self._plain is None:
            self.projection.note(f"the logits were computed whole: {_name(asked_by)} asked for them{_user_line()}")
            with torch.set_grad_enabled(self.projection.has_graph):
                self._plain = self._compute()
            # From now on the script could change them in place, and copies that it made before must not change.
            for member in list(self.projection.members.values()):
                member.plain(asked_by)
        return self._plain

    def _values(self, asked_by: Any) -> Any:
        """The values alone, for operators below autograd."""
        if self._plain is not None:
            return self._plain.detach()
        if self._data is None:
            self.projection.note(f"the logits were computed whole: {_name(asked_by)} asked for them{_user_line()}")
            with torch.no_grad():
                self._data = self._compute().detach()
        return self._data

    @classmethod
    def __torch_function__(cls, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        """Everything that Python code does with it comes through here."""
        kwargs = kwargs or {}
        if func in _ABOUT:
            with torch._C.DisableTorchFunctionSubclass():
                return func(*args, **kwargs)
        if args and not torch.compiler.is_compiling():
            result = _stay_lazy(func, args, kwargs)
            if result is not None:
                return result

        def plain(value: Any) -> Any:
            return value.plain(func) if isinstance(value, cls) else value

        return func(*tree_map(plain, args), **tree_map(plain, kwargs))

    @classmethod
    def __torch_dispatch__(cls, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        """Operators that C++ code calls on it come through here, below autograd."""

        def values(value: Any) -> Any:
            return value._values(func) if isinstance(value, cls) else value

        return func(*tree_map(values, args), **tree_map(values, kwargs or {}))


def lazy(hidden: Any, projection: Projection) -> LazyLogits:
    """The logits of hidden states."""
    rows = Rows(hidden, hidden.dim() - 1)
    return _make(rows, projection, projection.dtype, False, lambda: projection.logits(hidden))


def _make(
    rows: Rows, projection: Projection, dtype: Any, is_log_softmax: bool, compute: Callable[[], Any]
) -> LazyLogits:
    shape = list(rows.hidden.shape)
    shape[rows.classes_dim] = projection.weight.shape[0]
    classes_dim, autocast_dtype = rows.classes_dim, projection.autocast_dtype

    def plainly(hidden: Any, weight: Any, bias: Any) -> Any:
        logits = linear(hidden.movedim(classes_dim, -1), weight, bias, autocast_dtype)
        logits = logits.to(dtype).movedim(-1, classes_dim)
        return logits.log_softmax(classes_dim) if is_log_softmax else logits

    def make() -> LazyLogits:
        return LazyLogits(shape, dtype, rows.hidden.device)

    if projection.has_graph:
        made = Project.apply(rows.hidden, projection.weight, projection.bias, make, plainly)
    else:
        made = make()
    made.rows, made.projection, made.is_log_softmax = rows, projection, is_log_softmax
    made._compute, made._plain, made._data = compute, None, None
    projection.members[id(made)] = made
    return made  # type: ignore[no-any-return]


def _stay_lazy(func: Any, args: Any, kwargs: Any) -> Any:
    """The result of a function that needs no logits; None for all others."""
    joined = args[0] if func in _JOINS and isinstance(args[0], (list, tuple)) and args[0] else args
    if not isinstance(joined[0], LazyLogits):
        return None
    if not joined[0].projection.has_graph:
        # What comes of logits without a graph has none, wherever it is computed.
        with torch.no_grad():
            return _join(func, args, kwargs) if func in _JOINS else _of_one(func, args, kwargs)
    # Who looks at logits of a graph without gradients is not on the way to a loss.
    if not torch.is_grad_enabled():
        return None
    return _join(func, args, kwargs) if func in _JOINS else _of_one(func, args, kwargs)


def _of_one(func: Any, args: Any, kwargs: Any) -> Any:
    self, *rest = args
    if not self.is_lazy():
        return None
    if func is functional.cross_entropy:
        return losses.cross_entropy(self, *rest, **kwargs)
    if func is functional.nll_loss:
        return losses.nll_loss(self, *rest, **kwargs)
    if func in _CASTS:
        return _cast(func, self, rest, kwargs)
    if func in _LOG_SOFTMAXES:
        return _log_softmax(func, self, *rest, **kwargs)
    rows = _moved(func, self, rest, kwargs)
    return None if rows is None else _derived(self, func, rest, kwargs, rows)


def _moved(func: Any, self: LazyLogits, rest: list[Any], kwargs: Any) -> Rows | None:
    if any(isinstance(value, torch.dtype) for value in rest):
        return None
    if func in _RESHAPES:
        return on_rows.reshaped(self.rows, self.shape, func, rest, kwargs)
    if func in _REARRANGES:
        return on_rows.rearranged(self.rows, self.shape, func, rest, kwargs)
    return on_rows.indexed(self.rows, self.shape, rest[0]) if func is _T.__getitem__ else None


def _derived(
    self: LazyLogits, func: Any, rest: Any, kwargs: Any, rows: Rows, dtype: Any = None, is_log_softmax: bool = False
) -> LazyLogits:
    return _make(
        rows,
        self.projection,
        dtype or self.dtype,
        is_log_softmax or self.is_log_softmax,
        lambda: func(self.plain(func), *rest, **kwargs),
    )


def _cast(func: Any, self: LazyLogits, rest: Any, kwargs: Any) -> Any:
    dtype = on_rows.cast(self.dtype, self.device, func.__name__, rest, kwargs)
    if dtype == self.dtype:
        return self if func.__name__ != "clone" else _derived(self, func, rest, kwargs, self.rows)
    # A loss in halves is one of logits that were rounded to halves; nobody computes one on purpose.
    if dtype is None or torch.finfo(dtype).bits < 32:
        return None
    return _derived(self, func, rest, kwargs, self.rows, dtype)


def _join(func: Any, args: Any, kwargs: Any) -> Any:
    parts = args[0]
    dim = kwargs.get("dim", args[1] if len(args) > 1 else 0)
    first = parts[0] if isinstance(parts, (list, tuple)) and parts else None
    if not isinstance(first, LazyLogits) or set(kwargs) - {"dim"}:
        return None
    for part in parts:
        if not isinstance(part, LazyLogits) or not part.is_lazy() or part.is_log_softmax or part.dim() != first.dim():
            return None
        if part.projection.weight is not first.projection.weight or part.dtype != first.dtype:
            return None
        if part.projection.has_graph != first.projection.has_graph:
            return None
        if not part.projection.is_unchanged():
            return None
    rows = on_rows.joined([part.rows for part in parts], first.shape, dim)
    if rows is None:
        return None
    own = first.projection
    projection = Projection(rows.hidden, own.weight, own.bias, own.chunk_bytes, own.on_asked_for, own)
    return _make(rows, projection, first.dtype, False, lambda: func([part.plain(func) for part in parts], dim))


def _log_softmax(func: Any, self: LazyLogits, dim: Any = None, *rest: Any, **kwargs: Any) -> Any:
    dtype = kwargs.get("dtype") or next((value for value in rest if isinstance(value, torch.dtype)), None)
    if dim is None or dim % self.dim() != self.rows.classes_dim or self.is_log_softmax:
        return None
    dtype = dtype or losses.loss_dtype_of(self)
    if torch.finfo(dtype).bits < torch.finfo(self.dtype).bits:
        return None
    return _derived(self, func, [dim, *rest], kwargs, self.rows, dtype, is_log_softmax=True)


def _name(func: Any) -> str:
    owner = getattr(func, "__self__", None)
    return str(getattr(owner, "__name__", None) or getattr(func, "__name__", None) or func)


_OURS = (os.path.dirname(torch.__file__), os.path.dirname(os.path.dirname(os.path.dirname(__file__))))


def _user_line() -> str:
    """Where in the script that was, as ` (file:line)`."""
    frame = sys._getframe(1)
    while frame is not None and frame.f_code.co_filename.startswith(_OURS):
        frame = frame.f_back  # type: ignore[assignment]
    return f" ({frame.f_code.co_filename}:{frame.f_lineno})" if frame is not None else ""
