"""What an optimizer is given, and the models it belongs to."""

from __future__ import annotations

import gc
import weakref
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from . import models


def as_lists(params: Any) -> list[Any]:
    """What an optimizer is given, with nothing left that can be gone through only once."""
    import torch

    entries = [params] if isinstance(params, torch.Tensor) else list(params)
    return [
        {**entry, "params": as_lists(entry["params"])} if isinstance(entry, Mapping) else entry for entry in entries
    ]


def tensors_of(groups: list[Any]) -> list[Any]:
    """The parameters in them."""
    found: list[Any] = []
    for entry in groups:
        if isinstance(entry, Mapping):
            found += tensors_of(entry["params"])
        else:
            found.append(entry[-1] if isinstance(entry, tuple) else entry)
    return found


def roots_of(parameters: Iterable[Any], known: weakref.WeakSet[Any]) -> list[Any]:
    """The models that these parameters belong to: of modules inside one another the outermost that computes."""
    from torch import nn

    wanted = {id(parameter) for parameter in parameters}
    # By type: `isinstance` would ask objects that pretend to be others.
    alive = [module for module in gc.get_objects() if issubclass(type(module), nn.Module)]
    holders = [module for module in alive if any(id(p) in wanted for p in module._parameters.values())]
    parents: dict[int, list[Any]] = {}
    for module in alive:
        for child in module.children():
            parents.setdefault(id(child), []).append(module)
    tops: dict[int, Any] = {}
    seen: set[int] = set()
    while holders:
        module = holders.pop()
        if id(module) in seen or module in known:
            continue
        seen.add(id(module))
        above = parents.get(id(module), [])
        holders += above
        if not above:
            tops[id(module)] = module
    found = {id(root): root for top in tops.values() for root in _that_compute(models.unwrapped(top), nn.Module)}
    return list(found.values())


def _that_compute(module: Any, plain: Any) -> Iterator[Any]:
    """The module, or what is in it if it only holds others, which the script calls one by one."""
    has_own = any(parameter is not None for parameter in module._parameters.values())
    if has_own or type(module).forward is not plain.forward:
        if any(True for _ in module.parameters()):
            yield module
        return
    for child in module.children():
        yield from _that_compute(child, plain)
