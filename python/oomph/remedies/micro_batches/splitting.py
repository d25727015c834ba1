"""Batches and their rows: how many there are, and how to take some of them."""

from __future__ import annotations

import copy
import dataclasses
import numbers
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

#: What every part of a batch may share: it has no rows.
_WITHOUT_ROWS = (str, bytes, numbers.Number, type(None))


@dataclass(frozen=True)
class Rows:
    """How the rows of a batch lie in it."""

    count: int
    #: Whether a row is an element of a list (images of different sizes) and not the first dimension of tensors.
    is_listed: bool = False


def rows_of(batch: Any) -> Rows | None:
    """The rows of a batch; None where it is not clear what they are."""
    leaves = list(_leaves(batch))
    if any(not hasattr(leaf, "shape") and not isinstance(leaf, _WITHOUT_ROWS) for leaf in leaves):
        return None
    sizes = {leaf.shape[0] for leaf in leaves if getattr(leaf, "shape", ())}
    if len(sizes) == 1:
        return Rows(sizes.pop())
    if isinstance(batch, (list, tuple)) and batch and all(isinstance(field, (list, tuple)) for field in batch):
        lengths = {len(field) for field in batch}
        if len(lengths) == 1:
            return Rows(lengths.pop(), is_listed=True)
    return None


def sizes_of_parts(rows: int, parts: int) -> list[int]:
    """The rows of each part: as equal as can be, the larger ones first, none empty."""
    parts = max(1, min(parts, rows))
    return [rows // parts + (number < rows % parts) for number in range(parts)]


def split(batch: Any, rows: Rows, sizes: Sequence[int]) -> list[Any]:
    """The batch in parts of these sizes; tensors are views of the whole."""
    found, start = [], 0
    for size in sizes:
        found.append(_taken(batch, rows, lambda field, at=slice(start, start + size): field[at]))
        start += size
    return found


def pick(batch: Any, rows: Rows, numbers_of_rows: Sequence[int]) -> Any:
    """Some rows of a batch, copied."""

    def chosen(field: Any) -> Any:
        if hasattr(field, "shape"):
            return field[list(numbers_of_rows)]
        return type(field)(field[number] for number in numbers_of_rows)

    return _taken(batch, rows, chosen)


def unlike_rows(batch: Any, rows: Rows) -> tuple[int, int]:
    """Two rows that differ most in what tells how much of a row counts: masks, lengths and labels are whole numbers."""
    import torch

    total = torch.zeros(rows.count, dtype=torch.float64)
    for leaf in _leaves(batch):
        if isinstance(leaf, torch.Tensor) and leaf.dim() > 1 and leaf.shape[0] == rows.count:
            if not leaf.is_floating_point() and not leaf.is_complex():
                sums = leaf.reshape(rows.count, -1).to("cpu", torch.float64).sum(1)
                total += sums / max(float(sums.abs().max()), 1.0)
    first, last = int(total.argmax()), int(total.argmin())
    return (first, last) if first != last else (0, rows.count - 1)


def _leaves(value: Any) -> Iterator[Any]:
    if isinstance(value, Mapping):
        for field in value.values():
            yield from _leaves(field)
    elif isinstance(value, (list, tuple)):
        for field in value:
            yield from _leaves(field)
    elif dataclasses.is_dataclass(value) and not isinstance(value, type):
        yield from _leaves([getattr(value, field.name) for field in dataclasses.fields(value)])
    else:
        yield value


def _taken(value: Any, rows: Rows, take: Callable[[Any], Any], depth: int = 0) -> Any:
    """The value with some of its rows; `take` takes them from what has rows."""
    if isinstance(value, Mapping):
        changed = copy.copy(value)
        for name, field in value.items():
            changed[name] = _taken(field, rows, take, depth + 1)  # type: ignore[index]
        return changed
    if isinstance(value, (list, tuple)):
        if len(value) == rows.count and (depth == 1 if rows.is_listed else not _has_rows(value, rows)):
            return take(value)
        fields = [_taken(field, rows, take, depth + 1) for field in value]
        return type(value)(*fields) if hasattr(value, "_fields") else type(value)(fields)
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        names = [field.name for field in dataclasses.fields(value)]
        return dataclasses.replace(value, **{name: _taken(getattr(value, name), rows, take) for name in names})
    has_rows = not rows.is_listed and getattr(value, "shape", ()) and value.shape[0] == rows.count
    return take(value) if has_rows else value


def _has_rows(value: Any, rows: Rows) -> bool:
    return any(getattr(leaf, "shape", ()) and leaf.shape[0] == rows.count for leaf in _leaves(value))
