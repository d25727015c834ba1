"""Where remedies hear what the script is about to do, and tell what they did."""

from __future__ import annotations

import weakref
from collections.abc import Callable
from typing import Any

#: Tells something about a remedy: its name, a word for what is told, and the details.
Tell = Callable[[str, str, Any], None]


class Desk:
    """One for all remedies of a process; each remedy speaks through a desk with its own name on it."""

    def __init__(self, tell: Tell, name: str = "", calls: Calls | None = None) -> None:
        self._tell = tell
        self._name = name
        self._told: set[tuple[str, str]] = set()
        self.calls = calls if calls is not None else Calls()

    def for_remedy(self, name: str) -> Desk:
        """The desk of one remedy."""
        return Desk(self._tell, name, self.calls)

    def applied(self, **facts: Any) -> None:
        """Tells what the remedy was applied to, as plain data: once for each thing."""
        self._once("applied", facts)

    def refuse(self, why: str) -> None:
        """Tells in one sentence why the script runs on as it was, here."""
        self._once("refused", why)

    def note(self, text: str) -> None:
        """Tells in one sentence what the reader should know."""
        self._once("note", text)

    def _once(self, kind: str, told: Any) -> None:
        if (kind, repr(told)) not in self._told:
            self._told.add((kind, repr(told)))
            self._tell(self._name, kind, told)


class Calls:
    """The outermost calls of modules: what people call the model's forward pass of a batch."""

    def __init__(self) -> None:
        self._before_first: list[Callable[[Any], None]] = []
        self._seen: weakref.WeakSet[Any] = weakref.WeakSet()
        self._before_first_of_all: list[Callable[[Any], None]] = []
        self._seen_at_all: weakref.WeakSet[Any] = weakref.WeakSet()
        self._records_graphs: Callable[[], bool] = lambda: True
        #: Samples of the call that is about to be made: the first dimension of its first tensor.
        self.batch = 0

    def install(self, records_graphs: Callable[[], bool]) -> None:
        """Learns how to ask whether autograd records."""
        self._records_graphs = records_graphs

    def before_first(self, callback: Callable[[Any], None]) -> None:
        """Calls back once for each model, right before its first call whose graph autograd records."""
        self._before_first.append(callback)

    def before_first_of_all(self, callback: Callable[[Any], None]) -> None:
        """Calls back once for each model, right before its first call, whether or not autograd records it."""
        self._before_first_of_all.append(callback)

    def about_to_call(self, module: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        """The script calls a module, and no other module does."""
        if self._before_first_of_all and module not in self._seen_at_all:
            self._seen_at_all.add(module)
            for callback in self._before_first_of_all:
                callback(module)
        if self._before_first and module not in self._seen and self._records_graphs():
            self._seen.add(module)
            shapes = (getattr(value, "shape", ()) for value in (*args, *kwargs.values()))
            self.batch = next((int(shape[0]) for shape in shapes if len(shape)), 0)
            for callback in self._before_first:
                callback(module)
