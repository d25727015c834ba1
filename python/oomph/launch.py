"""Starts the script with the names, paths and arguments that `python` would have given it."""

from __future__ import annotations

import importlib.machinery
import io
import os
import runpy
import sys
import types

from .settings import Settings


def run(settings: Settings, arguments: list[str]) -> None:
    """Runs the script or module of the settings in a fresh `__main__`."""
    if settings.is_module:
        sys.path.insert(0, os.getcwd())
        # runpy puts the module's file in place of the first.
        sys.argv = [settings.target, *arguments]
        runpy.run_module(settings.target, run_name="__main__", alter_sys=True)
        return
    path = settings.target
    if os.path.isdir(path) or path.endswith((".zip", ".pyz")):
        sys.argv = [path, *arguments]
        runpy.run_path(path, run_name="__main__")
        return
    sys.argv = [path, *arguments]
    sys.path.insert(0, os.path.dirname(os.path.realpath(path)))
    with io.open_code(os.path.abspath(path)) as file:
        code = compile(file.read(), path, "exec", dont_inherit=True)
    exec(code, _fresh_main(path).__dict__)  # noqa: S102 - running the user's script is the point


def _fresh_main(path: str) -> types.ModuleType:
    main = types.ModuleType("__main__")
    main.__file__ = path
    main.__cached__ = None
    main.__loader__ = importlib.machinery.SourceFileLoader("__main__", path)
    main.__spec__ = None
    main.__builtins__ = __builtins__
    sys.modules["__main__"] = main
    return main


def leave() -> None:
    """Ends the process at once: nothing is left to do, and giving terabytes back to nobody takes time."""
    children = sys.modules.get("multiprocessing")
    if children is not None:
        for child in children.active_children():
            child.terminate()
    for stream in (sys.stdout, sys.stderr):
        try:
            stream.flush()
        except (OSError, ValueError, AttributeError):
            pass
    os._exit(0)
