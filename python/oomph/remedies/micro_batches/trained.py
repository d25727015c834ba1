"""Which models a loop trains now: what was found out for one says nothing of another that the same lines train later."""

from __future__ import annotations

import ast
import weakref
from collections.abc import Iterable, Iterator
from types import FrameType, FunctionType, MappingProxyType, ModuleType
from typing import Any

#: References, since another model may come to lie at the same address.
Models = frozenset[Any]
_NOTHING: MappingProxyType[str, Any] = MappingProxyType({})


def models(torch: ModuleType, roots: Iterable[Any]) -> Models:
    """What tells these models from others."""
    try:
        return frozenset(weakref.ref(root) for root in roots if isinstance(root, torch.nn.Module))
    except Exception:  # noqa: BLE001 - the user's objects may answer anything; the script must not end because of it
        return frozenset()


def by_loop(torch: ModuleType, frame: FrameType, loop: ast.AST | None) -> Models:
    """The modules that the names of a loop stand for, by themselves, in an object or in a function."""
    if loop is None:
        return frozenset()
    names = {node.id for node in ast.walk(loop) if isinstance(node, ast.Name)}
    here, around = frame.f_locals, frame.f_globals
    values = [here[name] if name in here else around.get(name) for name in sorted(names)]
    return models(torch, (found for value in values for found in _within(torch, value)))


def _within(torch: ModuleType, value: Any) -> Iterator[Any]:
    if isinstance(value, (torch.nn.Module, type, ModuleType)):
        yield value
    elif isinstance(value, FunctionType):
        for cell in value.__closure__ or ():
            # One that is not filled yet raises.
            try:
                yield cell.cell_contents
            except ValueError:
                continue
        yield from (value.__globals__.get(name) for name in value.__code__.co_names)
    else:
        yield from getattr(value, "__dict__", _NOTHING).values()
