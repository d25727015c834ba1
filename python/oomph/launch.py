"""Runs the script that the interpreter was started with, compiled by us, with the names and paths Python gives it.

Python looks whether something on `sys.path_hooks` can import the script's path, as it does for folders and zip files,
before it opens the file itself. The hook here says yes for exactly that path.
"""

from __future__ import annotations

import builtins
import importlib.machinery
import io
import linecache
import os
import sys
import types
from collections.abc import Callable
from typing import Any

from . import notebook

Compile = Callable[[bytes, str], types.CodeType]

#: Options of the interpreter that take the next word, or end the options with code or a module.
_OPTIONS_WITH_VALUE = ("-W", "-X", "--check-hash-based-pycs")
_OPTIONS_THAT_RUN = ("-c", "-m")


def script_of(words: list[str]) -> str | None:
    """The script in the interpreter's command line; None where it runs something else."""
    pending = iter(words[1:])
    for word in pending:
        if word in _OPTIONS_WITH_VALUE:
            next(pending, None)
        elif word.startswith(_OPTIONS_THAT_RUN) or word == "-":
            return None
        elif not word.startswith("-"):
            return word
        elif not word.startswith("--") and any(letter in word for letter in "cm"):
            # Switches may be written together: `-uc CODE`.
            return None
    return None


def install(compile_main: Compile, on_exit: Callable[[Any], None], on_end: Callable[[], None]) -> None:
    """Takes the script over, if this interpreter was started with one.

    `on_exit` hears what the script gives to `sys.exit`, `on_end` that it came to its end.
    """
    path = script_of(sys.orig_argv)
    if path is None or os.path.isdir(path) or path.endswith((".zip", ".pyz", ".egg")):
        return
    sys.path_hooks.insert(0, _Hook(_Finder(path, compile_main, on_exit, on_end)))


class _Hook:
    """Claims one path, once."""

    def __init__(self, finder: _Finder) -> None:
        self.finder = finder

    def __call__(self, path: str) -> _Finder:
        script = self.finder.path
        if path not in (script, os.path.abspath(script)) or not os.path.isfile(script):
            raise ImportError
        if self in sys.path_hooks:
            sys.path_hooks.remove(self)
        return self.finder


class _Finder:
    """Finds `__main__`, and nothing else."""

    def __init__(
        self, path: str, compile_main: Compile, on_exit: Callable[[Any], None], on_end: Callable[[], None]
    ) -> None:
        self.path = path
        self.compile_main = compile_main
        self.on_exit = on_exit
        self.on_end = on_end

    def find_spec(self, name: str, _target: Any = None) -> importlib.machinery.ModuleSpec | None:
        if name != "__main__":
            return None
        return importlib.machinery.ModuleSpec(name, self, origin=self.path)

    def create_module(self, _spec: Any) -> None:
        return None

    def exec_module(self, _module: Any) -> None:
        raise ImportError("the script runs as __main__ alone")

    def get_code(self, _name: str) -> types.CodeType:
        """A line that calls back: Python runs it in a `__main__` of its own making, which is not that of a script."""
        return compile("__spec__.loader.run()", "<oomph>", "exec")

    def run(self) -> None:
        """Runs the script in a fresh `__main__`."""
        if sys.path and sys.path[0] in (self.path, os.path.abspath(self.path)):
            sys.path.pop(0)
        sys.path_importer_cache.pop(self.path, None)
        if not getattr(sys.flags, "safe_path", False):
            sys.path.insert(0, os.path.dirname(os.path.realpath(self.path)))
        with io.open_code(os.path.abspath(self.path)) as file:
            text = file.read()
        names = _fresh_main(self.path).__dict__
        try:
            self._execute(text, names)
        except SystemExit as problem:
            self.on_exit(problem.code)
            raise
        self.on_end()

    def _execute(self, text: bytes, names: dict[str, Any]) -> None:
        if not notebook.is_notebook(self.path):
            exec(self.compile_main(text, self.path), names)  # noqa: S102 - running the user's script is the point
            return
        names.update(display=notebook.display, get_ipython=notebook.get_ipython)
        for code, name in notebook.cells(text, self.path):
            # No file has this name: whoever asks for the source of a cell (tracebacks, `inspect`, us) finds it here.
            linecache.cache[name] = len(code), None, code.splitlines(keepends=True), name
            exec(self.compile_main(code.encode(), name), names)  # noqa: S102


def _fresh_main(path: str) -> types.ModuleType:
    main = types.ModuleType("__main__")
    # Python makes it absolute: folders above the script are found from it, also after `os.chdir`.
    main.__file__ = os.path.abspath(path)
    main.__cached__ = None
    main.__loader__ = importlib.machinery.SourceFileLoader("__main__", path)
    main.__spec__ = None
    main.__builtins__ = builtins
    sys.modules["__main__"] = main
    return main
