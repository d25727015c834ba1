"""The variables of a function that is running: read, and given other values."""

from __future__ import annotations

import ctypes
import inspect
import sys
import weakref
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from types import FrameType
from typing import Any

from .conditions import place, reader

#: From 3.13 on (PEP 667) the mapping is a view; before, a copy that the frame keeps.
_IS_VIEW = sys.version_info >= (3, 13)
#: Who refers to the copy while we look at it: its frame, the two variables here and there, and the call that counts.
_OWN_REFERENCES = 4


@contextmanager
def variables(frame: FrameType) -> Iterator[Mapping[str, Any]]:
    """The local variables. The copy that older Pythons make of them is emptied again: it would keep tensors alive."""
    local = frame.f_locals
    try:
        yield local
    finally:
        is_copy = not _IS_VIEW and frame.f_code.co_flags & inspect.CO_OPTIMIZED
        # Where the function itself asked for `locals()`, the copy is its own.
        if is_copy and sys.getrefcount(local) <= _OWN_REFERENCES:
            local.clear()


def read(frame: FrameType, leaves: list[str]) -> dict[str, Any]:
    """The values of those leaves that have one."""
    found = {}
    with variables(frame) as local:
        for leaf in leaves:
            try:
                found[leaf] = eval(reader(leaf), frame.f_globals, local)  # noqa: S307 - names and attributes only
            except Exception:  # noqa: BLE001 - not bound yet, or a property that raises
                continue
    return found


def owner(frame: FrameType, leaf: str) -> weakref.ref[Any] | None:
    """The object whose attribute a leaf is, without keeping it alive."""
    kind, owner_code, _name = place(leaf)
    if kind != "attribute" or owner_code is None:
        return None
    with variables(frame) as local:
        try:
            return weakref.ref(eval(owner_code, frame.f_globals, local))  # noqa: S307 - names and attributes only
        except Exception:  # noqa: BLE001 - not bound any more, or nothing that can be referred to
            return None


def assign(frame: FrameType, values: Mapping[str, Any]) -> bool:
    """Gives leaves other values; whether all could be given theirs."""
    names: dict[str, Any] = {}
    with variables(frame) as local:
        for leaf, value in values.items():
            kind, owner_code, key = place(leaf)
            try:
                owner = eval(owner_code, frame.f_globals, local) if owner_code else None  # noqa: S307
                if kind == "variable":
                    names[key] = value
                elif kind == "attribute":
                    setattr(owner, key, value)
                elif kind == "entry":
                    owner[key] = value  # type: ignore[index]
                else:
                    return False
            except Exception:  # noqa: BLE001 - a property without a setter, a tuple
                return False
        _assign_names(frame, local, names)
    return True


def _assign_names(frame: FrameType, local: Any, names: Mapping[str, Any]) -> None:
    for name, value in names.items():
        if name in local:
            local[name] = value
        else:
            frame.f_globals[name] = value
    if names and not _IS_VIEW and frame.f_code.co_flags & inspect.CO_OPTIMIZED:
        ctypes.pythonapi.PyFrame_LocalsToFast(ctypes.py_object(frame), ctypes.c_int(0))
