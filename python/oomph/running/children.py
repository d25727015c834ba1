"""What a script finds in its environment, and what its children find in theirs.

Our variables are hidden from the script and stay where the system keeps them, so that a child gets them that is started
with the environment as it is. To those that are started with an environment made by the script they are added.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from types import ModuleType
from typing import Any

#: Functions of `os` that take an environment, and which of their arguments it is.
_STARTERS = {"execve": 2, "execvpe": 2, "spawnve": 3, "spawnvpe": 3, "posix_spawn": 2, "posix_spawnp": 2}


def hide(hidden: dict[str, str | None]) -> dict[str, str]:
    """Gives the script the variables as they were; returns ours."""
    ours = {name: os.environ[name] for name in hidden if name in os.environ}
    # The mapping alone: `os.environ[name] = ...` would change what children inherit.
    shown = os.environ._data  # type: ignore[attr-defined]
    for name, value in hidden.items():
        key = os.fsencode(name)
        if value is None:
            shown.pop(key, None)
        else:
            shown[key] = os.fsencode(value)
    return ours


def with_ours(environment: Any, ours: dict[str, str]) -> Any:
    """The environment that a script made for a child, with our variables in it."""
    extended = dict(environment)
    is_bytes = any(isinstance(name, bytes) for name in extended)
    for name, value in ours.items():
        theirs = extended.get(os.fsencode(name) if is_bytes else name)
        if name == "PYTHONPATH" and theirs:
            # The package goes first; what the script wants on the path stays there.
            package = value.split(os.pathsep)[0]
            value = package + os.pathsep + os.fsdecode(theirs)
        extended[os.fsencode(name) if is_bytes else name] = os.fsencode(value) if is_bytes else value
    return extended


def follow(ours: dict[str, str], after_import: Callable[[str, Callable[[ModuleType], None]], None]) -> None:
    """Gives our variables to every child that a script starts with an environment of its own."""
    for name, position in _STARTERS.items():
        original = getattr(os, name, None)
        if original is not None:
            setattr(os, name, _with_environment(original, position, "env", ours))

    def on_subprocess(subprocess: ModuleType) -> None:
        original = subprocess.Popen._execute_child
        position = original.__code__.co_varnames.index("env")
        subprocess.Popen._execute_child = _with_environment(original, position, "env", ours)

    after_import("subprocess", on_subprocess)


def _with_environment(original: Callable[..., Any], position: int, name: str, ours: dict[str, str]) -> Callable[..., Any]:
    def start(*args: Any, **kwargs: Any) -> Any:
        words = list(args)
        try:
            if len(words) > position and words[position] is not None:
                words[position] = with_ours(words[position], ours)
            elif kwargs.get(name) is not None:
                kwargs[name] = with_ours(kwargs[name], ours)
        except (TypeError, ValueError):
            # What the script gave is no environment; the call itself says so.
            words = list(args)
        return original(*words, **kwargs)

    start.__name__, start.__doc__ = original.__name__, original.__doc__
    return start
