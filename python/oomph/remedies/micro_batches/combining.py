"""What the script's variables are for the whole batch, given what they are for its parts.

Nothing is guessed from names: a few rows were computed together and apart, and the rule that makes one from the other
is kept. A value for which no rule fits has none.
"""

from __future__ import annotations

import copy
import numbers
from collections.abc import Mapping, Sequence
from typing import Any

#: How the value of the whole comes from those of the parts.
#: `same` in all, `rows` joined, `weighted` as the loss is, `by_rows` weighted by rows, `sum`; or a rule for each field.
Rule = Any
_ORDER = ("same", "rows", "weighted", "by_rows", "sum")


def learn(
    whole: Any, parts: Sequence[Any], weights: Sequence[float], rows: Sequence[int], tolerance: float | None
) -> Rule:
    """The rule that makes the whole from the parts; None where none does. Without a tolerance values are not read."""
    if isinstance(whole, Mapping) and all(_fields_of(part) == _fields_of(whole) for part in parts):
        fields: Any = {name: learn(whole[name], [p[name] for p in parts], weights, rows, tolerance) for name in whole}
        return None if None in fields.values() else fields
    if isinstance(whole, (list, tuple)) and all(len(part) == len(whole) for part in parts):
        fields = [learn(*each, weights, rows, tolerance) for each in zip(whole, zip(*parts))]
        if None not in fields:
            return fields
    for rule in _ORDER:
        if _fits(rule, whole, parts, weights, rows, tolerance):
            return rule
    return None


def combine(rule: Rule, parts: Sequence[Any], weights: Sequence[float], rows: Sequence[int]) -> Any:
    """The value for the whole batch, outside of any graph."""
    import torch

    first = parts[0]
    if isinstance(rule, dict):
        changed = copy.copy(first)
        for name, inner in rule.items():
            changed[name] = combine(inner, [part[name] for part in parts], weights, rows)
        return changed
    if isinstance(rule, list):
        fields = [combine(inner, each, weights, rows) for inner, each in zip(rule, zip(*parts))]
        return type(first)(*fields) if hasattr(first, "_fields") else type(first)(fields)
    if rule == "same":
        return first
    with torch.no_grad():
        if rule == "rows":
            if isinstance(first, torch.Tensor):
                return torch.cat([part.detach() for part in parts])
            return sum((list(part) for part in parts[1:]), list(first)) if isinstance(first, list) else sum(parts, ())
        if rule == "sum":
            return sum((_detached(part) for part in parts[1:]), _detached(first))
        shares = weights if rule == "weighted" else [count / sum(rows) for count in rows]
        # A part in which nothing counts has a mean of nothing: its weight is zero, and so is what it adds.
        terms = [_detached(part) * share for part, share in zip(parts, shares) if share]
        return sum(terms[1:], terms[0])


def is_close(left: Any, right: Any, tolerance: float) -> bool:
    """Whether two values are equal but for rounding."""
    import torch

    one, other = (torch.as_tensor(value).detach().to("cpu", torch.float64) for value in (left, right))
    if one.shape != other.shape:
        return False
    scale = float(one.abs().max()) if one.numel() else 0.0
    return bool(torch.allclose(one, other, rtol=tolerance, atol=tolerance * max(scale, 1e-6), equal_nan=True))


def _fits(
    rule: str, whole: Any, parts: Sequence[Any], weights: Sequence[float], rows: Sequence[int], tolerance: float | None
) -> bool:
    import torch

    if rule == "same":
        if tolerance is None and isinstance(whole, torch.Tensor):
            return all(part is whole for part in parts)
        return all(part is whole or _equal(part, whole) for part in parts)
    if rule == "rows":
        if isinstance(whole, (list, tuple)):
            return type(whole) in (list, tuple) and len(whole) == sum(rows)
        have_rows = isinstance(whole, torch.Tensor) and whole.dim() > 0 and whole.shape[0] == sum(rows)
        if not have_rows or [part.shape[:1] for part in parts] != [(count,) for count in rows]:
            return False
    elif not isinstance(whole, numbers.Real) and (not isinstance(whole, torch.Tensor) or whole.dtype == torch.bool):
        return False
    elif tolerance is None:
        # What adds up is whole, and what is averaged is not.
        is_whole = not whole.is_floating_point() if isinstance(whole, torch.Tensor) else isinstance(whole, int)
        return (rule == "sum") == is_whole
    if tolerance is None:
        return True
    try:
        return is_close(whole, combine(rule, parts, weights, rows), tolerance)
    except (TypeError, RuntimeError):
        return False


def _equal(left: Any, right: Any) -> bool:
    import torch

    if isinstance(left, torch.Tensor) or isinstance(right, torch.Tensor):
        return type(left) is type(right) and left.shape == right.shape and bool(torch.equal(left, right))
    return type(left) is type(right) and isinstance(left, (str, numbers.Number, type(None))) and bool(left == right)


def _fields_of(value: Any) -> Any:
    return list(value) if isinstance(value, Mapping) else None


def _detached(value: Any) -> Any:
    return value.detach() if hasattr(value, "detach") else value
