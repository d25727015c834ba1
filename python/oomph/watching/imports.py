"""Calls back right after a module was imported, however that came about."""

from __future__ import annotations

import importlib.abc
import importlib.machinery
import importlib.util
import sys
from collections.abc import Callable, Sequence
from types import ModuleType


def before_import(name: str, callback: Callable[[], None]) -> None:
    """Calls `callback` when the module is about to be imported."""
    sys.meta_path.insert(0, _Listener(name, callback))


def after_import(name: str, callback: Callable[[ModuleType], None]) -> None:
    """Calls `callback` with the module once it is there: now if it is already."""
    if name in sys.modules:
        callback(sys.modules[name])
    else:
        sys.meta_path.insert(0, _Finder(name, callback))


class _Listener(importlib.abc.MetaPathFinder):
    """Finds nothing, and hears what others look for."""

    def __init__(self, name: str, callback: Callable[[], None]) -> None:
        self.name = name
        self.callback = callback

    def find_spec(self, fullname: str, _path: Sequence[str] | None, _target: ModuleType | None = None) -> None:
        if fullname == self.name:
            sys.meta_path.remove(self)
            self.callback()


class _Finder(importlib.abc.MetaPathFinder):
    """Finds the module as everybody else would, and wraps what loads it.

    It stays until the module is there: libraries look for torch, to see whether it is installed, long before they
    import it.
    """

    def __init__(self, name: str, callback: Callable[[ModuleType], None]) -> None:
        self.name = name
        self.callback = callback
        self._is_looking = False

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> importlib.machinery.ModuleSpec | None:
        if fullname != self.name or self._is_looking or self not in sys.meta_path:
            return None
        self._is_looking = True
        try:
            spec = importlib.util.find_spec(fullname)
        finally:
            self._is_looking = False
        if spec is None or spec.loader is None:
            # Not there yet; it may be after the path has changed.
            return None
        spec.loader = _Loader(spec.loader, self._loaded)
        return spec

    def _loaded(self, module: ModuleType) -> None:
        if self in sys.meta_path:
            sys.meta_path.remove(self)
            self.callback(module)


class _Loader(importlib.abc.Loader):
    """Loads with another loader, puts that one back in its place, and calls back."""

    def __init__(self, inner: importlib.abc.Loader, callback: Callable[[ModuleType], None]) -> None:
        self.inner = inner
        self.callback = callback

    def create_module(self, spec: importlib.machinery.ModuleSpec) -> ModuleType | None:
        return self.inner.create_module(spec)

    def exec_module(self, module: ModuleType) -> None:
        if module.__spec__ is not None:
            module.__spec__.loader = self.inner
        module.__loader__ = self.inner
        self.inner.exec_module(module)
        self.callback(module)
