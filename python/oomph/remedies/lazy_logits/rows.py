"""What training code does to logits on the way to the loss, done to the hidden states instead.

Each function returns the hidden states of the result and the dimension in which its classes lie, or None if the result
is no projection of hidden states.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import torch


class Rows(NamedTuple):
    """Hidden states that stand for logits: the same shape, but for the dimension of the classes."""

    hidden: Any
    classes_dim: int


def reshaped(rows: Rows, shape: Any, function: Any, args: Any, kwargs: Any) -> Rows | None:
    """`view`, `reshape`, `flatten`: as long as the classes stay the last dimension."""
    result = function(torch.empty(shape, device="meta"), *args, **kwargs).shape
    if rows.classes_dim != len(shape) - 1 or not result or result[-1] != shape[-1]:
        return None
    return Rows(rows.hidden.reshape(*result[:-1], rows.hidden.shape[-1]), len(result) - 1)


def rearranged(rows: Rows, shape: Any, function: Any, args: Any, kwargs: Any) -> Rows | None:
    """`transpose`, `permute`, `unsqueeze`, `squeeze`: each dimension keeps its size."""
    # Sizes that tell the dimensions apart show where the classes go.
    sizes = [1 if size == 1 else 2 + place for place, size in enumerate(shape)]
    result = function(torch.empty(sizes, device="meta"), *args, **kwargs).shape
    return Rows(function(rows.hidden, *args, **kwargs), list(result).index(sizes[rows.classes_dim]))


def indexed(rows: Rows, shape: Any, index: Any) -> Rows | None:
    """`logits[:, :-1]`, `logits[..., -1, :]`, `logits[mask]`: as long as all classes stay."""
    parts = list(index) if isinstance(index, tuple) else [index]
    if rows.classes_dim != len(shape) - 1 or not all(_is_understood(part) for part in parts):
        return None
    used = sum(_dimensions(part) for part in parts)
    ellipses = [place for place, part in enumerate(parts) if part is Ellipsis]
    if len(ellipses) > 1:
        return None
    place = ellipses[0] if ellipses else len(parts)
    parts[place : place + 1] = [slice(None)] * (len(shape) - used)
    of_classes = parts[-1]
    if not (isinstance(of_classes, slice) and of_classes == slice(None)):
        return None
    hidden = rows.hidden[index]
    return Rows(hidden, hidden.dim() - 1)


def _is_understood(part: Any) -> bool:
    if isinstance(part, torch.Tensor):
        return part.dtype in (torch.bool, torch.long, torch.int32)
    return part is Ellipsis or part is None or isinstance(part, (slice, int)) and not isinstance(part, bool)


def _dimensions(part: Any) -> int:
    """How many dimensions of the tensor one part of an index stands for."""
    if part is Ellipsis or part is None:
        return 0
    return part.dim() if isinstance(part, torch.Tensor) and part.dtype == torch.bool else 1


def joined(all_rows: list[Rows], shape: Any, dim: int) -> Rows | None:
    """`cat` along any dimension but that of the classes."""
    classes_dim = all_rows[0].classes_dim
    if dim % len(shape) == classes_dim or any(rows.classes_dim != classes_dim for rows in all_rows):
        return None
    return Rows(torch.cat([rows.hidden for rows in all_rows], dim), classes_dim)


def cast(own_dtype: Any, own_device: Any, name: str, args: Any, kwargs: Any) -> Any:
    """The dtype that `float`, `to`, `contiguous` and the like give; None for what is more than that."""
    named = {"float": torch.float32, "double": torch.float64, "half": torch.float16, "bfloat16": torch.bfloat16}
    if name in ("contiguous", "clone"):
        return None if args or kwargs else own_dtype
    if name in named:
        return None if args or kwargs else named[name]
    if name == "type_as":
        return args[0].dtype if args[0].device == own_device else None
    try:
        device, dtype, _non_blocking, memory_format = torch._C._nn._parse_to(*args, **kwargs)
    except (TypeError, RuntimeError):
        return None
    is_elsewhere = device is not None and torch.empty(0, device=device).device != own_device
    if is_elsewhere or memory_format is not None or (dtype is not None and not dtype.is_floating_point):
        return None
    return own_dtype if dtype is None else dtype
