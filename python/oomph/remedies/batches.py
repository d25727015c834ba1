"""What in a model's arguments and results is per sample, and how it is taken apart and put together again."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from typing import Any


class NotPerSample(Exception):
    """Says what is not, in a few words."""


def batch_size(values: Any) -> int:
    """The samples in a call's arguments: the size of the first tensor."""
    sizes: list[int] = []
    _look(values, sizes)
    if not sizes:
        raise NotPerSample("it is called without tensors")
    count = sizes[0]
    for size in sizes:
        # One for all samples is broadcast; of anything else nobody knows which sample it belongs to.
        if size not in (1, count):
            raise NotPerSample(f"it is called with tensors of {count} and of {size} rows")
    return count


def _look(value: Any, sizes: list[int]) -> None:
    import torch

    if isinstance(value, torch.Tensor):
        if value.dim():
            sizes.append(value.shape[0])
    elif isinstance(value, Mapping):
        for part in value.values():
            _look(part, sizes)
    elif value is not None and not isinstance(value, (bool, int, float, str, torch.dtype, torch.device)):
        raise NotPerSample(f"it is called with a {type(value).__name__}")


def part_of(value: Any, count: int, start: int, stop: int) -> Any:
    """The rows of a part of the samples."""
    import torch

    if isinstance(value, torch.Tensor):
        return value[start:stop] if value.dim() and value.shape[0] == count else value
    if isinstance(value, Mapping):
        parts = {key: part_of(part, count, start, stop) for key, part in value.items()}
        return parts if type(value) is dict else _like(value, parts)
    return value


def check_output(value: Any, count: int) -> None:
    """Raises unless everything in a result is per sample."""
    import torch

    if isinstance(value, torch.Tensor):
        if not value.dim() or value.shape[0] != count:
            raise NotPerSample(f"it returns a tensor of shape {tuple(value.shape)} for {count} samples")
    elif isinstance(value, Mapping):
        for part in value.values():
            check_output(part, count)
    elif isinstance(value, (list, tuple)):
        for part in value:
            check_output(part, count)
    elif dataclasses.is_dataclass(value) and not isinstance(value, type):
        for field in dataclasses.fields(value):
            check_output(getattr(value, field.name), count)
    elif value is not None:
        raise NotPerSample(f"it returns a {type(value).__name__}")


def joined(values: list[Any]) -> Any:
    """The results of all parts as one."""
    import torch

    first = values[0]
    if isinstance(first, torch.Tensor):
        return torch.cat(values)
    if isinstance(first, Mapping):
        parts = {key: joined([value[key] for value in values]) for key in first}
        return parts if type(first) is dict else _like(first, parts)
    if isinstance(first, (list, tuple)):
        entries = [joined(list(group)) for group in zip(*values)]
        return type(first)(*entries) if hasattr(first, "_fields") else type(first)(entries)
    if dataclasses.is_dataclass(first) and not isinstance(first, type):
        names = [field.name for field in dataclasses.fields(first)]
        parts = {name: joined([getattr(value, name) for value in values]) for name in names}
        return dataclasses.replace(first, **parts)
    return first


def _like(value: Any, parts: dict[Any, Any]) -> Any:
    """A mapping of the same class; transformers' results are dataclasses as well."""
    if dataclasses.is_dataclass(value):
        return type(value)(**parts)
    return type(value)(parts)
