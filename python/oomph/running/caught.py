"""Exceptions that end a child process and are caught before Python's own hook hears of them.

`multiprocessing` catches what a process raises, shows it and ends the process with code 1; `mp.spawn` of torch writes it
down for the parent and does the same. Both use functions of `traceback`, which is where they are heard: nothing stands
between the script and the exception, so its traceback stays the script's own.
"""

from __future__ import annotations

import functools
import sys
import traceback
from collections.abc import Callable
from multiprocessing import process
from types import CodeType
from typing import Any

_SHOWING = ("print_exc", "format_exc")
_Listener = Callable[[BaseException], None]


def follow(on_caught: _Listener) -> None:
    """Tells of every exception that ends a child process; torch has been imported."""
    spawning = sys.modules.get("torch.multiprocessing.spawn")
    catchers = (process.BaseProcess._bootstrap, getattr(spawning, "_wrap", None))  # type: ignore[attr-defined]
    codes = {catcher.__code__ for catcher in catchers if catcher is not None}
    for name in _SHOWING:
        setattr(traceback, name, _heard(getattr(traceback, name), codes, on_caught))


def _heard(original: Callable[..., Any], codes: set[CodeType], on_caught: _Listener) -> Callable[..., Any]:
    @functools.wraps(original)
    def show(*args: Any, **kwargs: Any) -> Any:
        problem = sys.exc_info()[1]
        if problem is not None and sys._getframe(1).f_code in codes:
            on_caught(problem)
        return original(*args, **kwargs)

    return show
