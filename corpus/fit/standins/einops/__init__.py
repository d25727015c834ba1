"""Stands in for `einops` where it is not installed: rearrange, reduce and repeat by reshape, permute and expand."""

from __future__ import annotations

import re
from typing import Any


def _groups(side: str) -> list[list[str]]:
    return [part.strip("()").split() for part in re.findall(r"\([^)]*\)|\S+", side)]


def _sizes(groups: list[list[str]], shape: Any, known: dict[str, int]) -> dict[str, int]:
    sizes = dict(known)
    for names, size in zip(groups, shape, strict=True):
        unknown = [name for name in names if name not in sizes and not name.isdigit()]
        for name in names:
            if name in sizes:
                size //= sizes[name]
        if unknown:
            sizes[unknown[0]] = size
    return sizes


def _expanded(pattern: str, tensor: Any) -> tuple[list[list[str]], list[list[str]]]:
    left, right = (_groups(side) for side in pattern.split("->"))
    if ["..."] in left:
        extra = [[f"_{at}"] for at in range(tensor.dim() - len(left) + 1)]
        left = [one for group in left for one in (extra if group == ["..."] else [group])]
        right = [one for group in right for one in (extra if group == ["..."] else [group])]
    return left, right


def _moved(tensor: Any, left: list[list[str]], right: list[list[str]], sizes: dict[str, int]) -> Any:
    names = [name for group in left for name in group if name != "1"]
    order = [name for group in right for name in group if name != "1"]
    tensor = tensor.reshape([sizes[name] for name in names])
    added = [name for name in order if name not in names]
    for name in added:
        tensor = tensor.unsqueeze(-1).expand(*tensor.shape, sizes[name])
    tensor = tensor.permute([[*names, *added].index(name) for name in order])
    shape = [1]
    shape = [_product(sizes[name] for name in group if name != "1") for group in right]
    return tensor.reshape(shape)


def _product(numbers: Any) -> int:
    product = 1
    for number in numbers:
        product *= number
    return product


def rearrange(tensor: Any, pattern: str, **known: int) -> Any:
    left, right = _expanded(pattern, tensor)
    return _moved(tensor, left, right, _sizes(left, tensor.shape, known))


repeat = rearrange


def reduce(tensor: Any, pattern: str, how: str, **known: int) -> Any:
    left, right = _expanded(pattern, tensor)
    sizes = _sizes(left, tensor.shape, known)
    names = [name for group in left for name in group if name != "1"]
    kept = [name for group in right for name in group if name != "1"]
    tensor = tensor.reshape([sizes[name] for name in names])
    gone = [at for at, name in enumerate(names) if name not in kept]
    tensor = getattr(tensor, {"max": "amax", "min": "amin"}.get(how, how))(dim=gone)
    return _moved(tensor, [[name] for name in names if name in kept], right, sizes)


def pack(tensors: Any, pattern: str) -> Any:
    raise NotImplementedError(pattern)


unpack = pack
