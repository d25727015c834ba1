"""Makes imports of installed libraries quick: most of the time that a small plan takes.

An installer that does not compile, an image that forbids bytecode: every import of torch then compiles its sources
again. What is compiled here is kept in a cache of ours; what lies beside the sources is read as ever and never written: a
plan leaves the installation as it is. Only installed modules are kept, so the cache grows with the installations, not
with the plans.

Python's collector goes through a growing heap again and again while libraries load, and finds next to nothing. It rests
until the import is over; what came with it is old from then on, as it would be. With the first use of a card it is back
to its habits for good: from then on it matters what it frees and when.
"""

from __future__ import annotations

import functools
import gc
import os
import site
import sys
from collections.abc import Callable
from importlib.machinery import BYTECODE_SUFFIXES, SourceFileLoader
from types import ModuleType
from typing import Any


def install() -> Callable[[], None]:
    """Quick from now on, for modules that come from a source file. Returns what to call at the first use of a card."""
    installation = _Installation()
    SourceFileLoader.get_data = installation.reading(SourceFileLoader.get_data)  # type: ignore[method-assign]
    SourceFileLoader.set_data = installation.writing(SourceFileLoader.set_data)  # type: ignore[method-assign]
    SourceFileLoader.exec_module = installation.executing(SourceFileLoader.exec_module)  # type: ignore[method-assign]
    # Said for the children of the script: here every write goes to the cache.
    sys.dont_write_bytecode = False
    return installation.settle


class _Installation:
    """Where libraries lie, and where the cache keeps them compiled."""

    def __init__(self) -> None:
        caches = os.environ.get("XDG_CACHE_HOME") or os.path.join(os.path.expanduser("~"), ".cache")
        self.cache = os.path.join(caches, "oomph", "bytecode")
        places = {sys.prefix, sys.base_prefix, site.getusersitepackages(), *site.getsitepackages()}
        self.places = tuple(os.path.join(place, "") for place in places)
        self.is_settled = False

    def settle(self) -> None:
        """Lets the collector count what there is: from now on it runs in full when a quarter as much has come."""
        self.is_settled = True
        gc.collect()

    def kept(self, path: str) -> str | None:
        """The file of the cache that stands for a compiled module, if it keeps that one."""
        if not path.endswith(tuple(BYTECODE_SUFFIXES)) or not path.startswith(self.places):
            return None
        return os.path.join(self.cache, path.lstrip(os.sep))

    def reading(self, original: Callable[..., bytes]) -> Callable[..., bytes]:
        """What lies beside the source, else what the cache has."""

        @functools.wraps(original)
        def get_data(loader: SourceFileLoader, path: str) -> bytes:
            try:
                return original(loader, path)
            except OSError:
                if kept := self.kept(path):
                    return original(loader, kept)
                raise

        return get_data

    def writing(self, original: Callable[..., None]) -> Callable[..., None]:
        """Into the cache or nowhere."""

        @functools.wraps(original)
        def set_data(loader: SourceFileLoader, path: str, data: bytes, **options: Any) -> None:
            if kept := self.kept(path):
                original(loader, kept, data, **options)

        return set_data

    def executing(self, original: Callable[..., None]) -> Callable[..., None]:
        """Without the collector. Modules of the user keep it: one of them may be the whole training."""

        @functools.wraps(original)
        def exec_module(loader: SourceFileLoader, module: ModuleType) -> None:
            if self.is_settled or not gc.isenabled() or not str(loader.path).startswith(self.places):
                return original(loader, module)
            gc.disable()
            try:
                return original(loader, module)
            finally:
                if not gc.get_freeze_count():
                    # There and back is the way to the oldest generation that looks at nothing.
                    gc.freeze()
                    gc.unfreeze()
                gc.enable()

        return exec_module
