"""What in a model's arguments and results is per sample, and how it is taken apart and put together again."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Iterator, Mapping
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


@dataclasses.dataclass(frozen=True)
class Place:
    """Where the samples are in a tensor of a result."""

    #: The dimension.
    dim: int
    #: How many entries there, one after the other, belong to a sample.
    entries: int


def places(value: Any, count: int, other: Any, other_count: int) -> tuple[Place, ...]:
    """Where the samples are in each tensor of a result, from two results with other numbers of samples each."""
    tensors, others = list(_tensors(value)), list(_tensors(other))
    if len(tensors) != len(others):
        raise NotPerSample(f"it returns {len(tensors)} tensors for {count} samples and {len(others)} for {other_count}")
    return tuple(_place(*pair, count, other_count) for pair in zip(tensors, others))


def _place(tensor: Any, other: Any, count: int, other_count: int) -> Place:
    sizes = list(zip(tensor.shape, other.shape)) if tensor.dim() == other.dim() else []
    differing = [dim for dim, (size, other_size) in enumerate(sizes) if size != other_size]
    if len(differing) == 1:
        dim = differing[0]
        size, other_size = sizes[dim]
        entries = size // count
        is_known = entries == 1 or (dim == 0 and _is_flattened(tensor, count))
        if (size, other_size) == (entries * count, entries * other_count) and is_known:
            return Place(dim, entries)
    raise NotPerSample(f"it returns a tensor of shape {tuple(tensor.shape)} for {count} samples")


def _is_flattened(tensor: Any, count: int) -> bool:
    """Whether the rows of all samples are below one another, as `view(-1, classes)` puts them.

    The tensor that it is a view of shows whose rows are where: if that has one for each sample, they are in the order
    of the samples.
    """
    base = tensor._base
    if base is None or not base.dim() or base.shape[0] != count or base.numel() != tensor.numel():
        return False
    return bool(base.is_contiguous() and tensor.is_contiguous())


def check_output(value: Any, count: int, known: tuple[Place, ...]) -> None:
    """Raises unless the samples are where they are known to be in the tensors of a result."""
    tensors = list(_tensors(value))
    if len(tensors) != len(known):
        raise NotPerSample(f"it returns {len(tensors)} tensors, and before {len(known)}")
    for tensor, place in zip(tensors, known):
        if tensor.dim() <= place.dim or tensor.shape[place.dim] != place.entries * count:
            raise NotPerSample(f"it returns a tensor of shape {tuple(tensor.shape)} for {count} samples")


def _tensors(value: Any) -> Iterator[Any]:
    """The tensors of a result; raises if there is something else in it."""
    import torch

    if isinstance(value, torch.Tensor):
        yield value
    elif isinstance(value, Mapping):
        for part in value.values():
            yield from _tensors(part)
    elif isinstance(value, (list, tuple)):
        for part in value:
            yield from _tensors(part)
    elif dataclasses.is_dataclass(value) and not isinstance(value, type):
        for field in dataclasses.fields(value):
            yield from _tensors(getattr(value, field.name))
    elif value is not None:
        raise NotPerSample(f"it returns a {type(value).__name__}")


def joined(values: Iterable[Any], known: tuple[Place, ...], count: int) -> Any:
    """The results of all parts as one, of so many samples.

    Where no graph is recorded, the whole is there from the first part on and each part goes when it is copied: never
    are all parts there beside it.
    """
    import torch

    if torch.is_grad_enabled():
        parts = list(values)
        groups = zip(*(_tensors(part) for part in parts))
        return _with_tensors(parts[0], (torch.cat(group, dim=place.dim) for group, place in zip(groups, known)))
    wholes: list[Any] = []
    first, starts = None, [0] * len(known)
    for value in values:
        tensors = list(_tensors(value))
        if not wholes:
            first, wholes = value, [_empty_whole(*pair, count) for pair in zip(tensors, known)]
        for at, (tensor, whole, place) in enumerate(zip(tensors, wholes, known)):
            size = tensor.shape[place.dim]
            whole.narrow(place.dim, starts[at], size).copy_(tensor)
            starts[at] += size
    return _with_tensors(first, iter(wholes))


def _empty_whole(tensor: Any, place: Place, count: int) -> Any:
    shape = list(tensor.shape)
    shape[place.dim] = place.entries * count
    return tensor.new_empty(shape)


def _with_tensors(value: Any, tensors: Iterator[Any]) -> Any:
    """The same with other tensors."""
    import torch

    if isinstance(value, torch.Tensor):
        return next(tensors)
    if isinstance(value, Mapping):
        parts = {key: _with_tensors(part, tensors) for key, part in value.items()}
        return parts if type(value) is dict else _like(value, parts)
    if isinstance(value, (list, tuple)):
        entries = [_with_tensors(part, tensors) for part in value]
        return type(value)(*entries) if hasattr(value, "_fields") else type(value)(entries)
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        names = [field.name for field in dataclasses.fields(value)]
        return dataclasses.replace(value, **{name: _with_tensors(getattr(value, name), tensors) for name in names})
    return value


def _like(value: Any, parts: dict[Any, Any]) -> Any:
    """A mapping of the same class; transformers' results are dataclasses as well."""
    if dataclasses.is_dataclass(value):
        return type(value)(**parts)
    return type(value)(parts)
