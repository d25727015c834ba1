"""Keeps a fault of ours away from the job: it is noted once, and the watching ends."""

from __future__ import annotations

import functools
import traceback
from collections.abc import Callable
from typing import Any, TypeVar

Function = TypeVar("Function", bound=Callable[..., Any])


class Aside:
    """Whether we still watch, and what ended it."""

    def __init__(self) -> None:
        self.is_over = False
        #: Told what went wrong, once.
        self.tell: Callable[[str], None] = lambda _text: None

    def guard(self, function: Function) -> Function:
        """The same function, which returns None instead of raising, and nothing at all after a fault."""

        @functools.wraps(function)
        def guarded(*args: Any, **kwargs: Any) -> Any:
            if self.is_over:
                return None
            try:
                return function(*args, **kwargs)
            except Exception as problem:
                self.give_up(problem)
                return None

        return guarded  # type: ignore[return-value]

    def give_up(self, problem: Exception) -> None:
        """Ends the watching."""
        self.is_over = True
        place = traceback.extract_tb(problem.__traceback__)[-1]
        try:
            self.tell(f"oomph no longer records: {type(problem).__name__}: {problem} ({place.name}, line {place.lineno})")
        except Exception:
            # Nobody can be told, which is no reason to disturb the job.
            return
