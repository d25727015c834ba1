"""How many iterations a loop would have by itself, asked of its iterator without taking anything from it."""

from __future__ import annotations

import operator
import sys
from collections.abc import Callable
from types import GeneratorType
from typing import Any

from . import frames

#: Wrappers around wrappers that are looked through.
_DEEPEST = 6


def remaining_of(iterator: Any, taken: int, depth: int = 0) -> int | None:
    """How many items an iterator still has, if it or what it is made of knows. `taken` came out of it already."""
    if depth > _DEEPEST:
        return None
    if type(iterator) in (enumerate, zip, map):
        parts = iterator.__reduce__()[1]
        inner = parts[:1] if type(iterator) is enumerate else parts[1:] if type(iterator) is map else parts
        known = [left for part in inner if (left := remaining_of(part, taken, depth + 1)) is not None]
        return min(known, default=None)
    if isinstance(iterator, GeneratorType):
        return _remaining_of_generator(iterator, taken, depth)
    if (length := _asked(len, iterator)) is not None:
        return max(0, length - taken)
    if (hint := _asked(lambda thing: operator.length_hint(thing, -1), iterator)) is not None and hint >= 0:
        return hint
    return None


def _remaining_of_generator(generator: GeneratorType[Any, Any, Any], taken: int, depth: int) -> int | None:
    """Progress bars, prefetchers and samplers: classes with a length whose `__iter__` is a generator."""
    if generator.gi_code.co_name != "__iter__" or generator.gi_frame is None:
        return None
    with frames.variables(generator.gi_frame) as variables:
        owner = variables.get("self")
    if owner is None:
        return None
    length = _asked(len, owner)
    if length is None:
        wrapped = getattr(owner, "iterable", None)
        total = getattr(owner, "total", None)
        if isinstance(total, int):
            length = total
        elif wrapped is not None:
            return remaining_of(wrapped, taken, depth + 1)
    return None if length is None else max(0, length - taken)


def _asked(question: Callable[[Any], Any], thing: Any) -> int | None:
    """The answer, where there is one that is a number."""
    try:
        answer = question(thing)
    except Exception:  # noqa: BLE001 - user code; no answer is an answer
        return None
    return answer if isinstance(answer, int) and 0 <= answer < sys.maxsize else None
