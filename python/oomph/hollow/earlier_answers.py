"""What the script was told where it asks whether something on the card is true, for when nobody can work that out any more.

A solver asks after every step whether it is done; a search asks of every token whether it is the last. Once the time for
values is spent, the same question gets the answer that it got the last time after the same answers: loops then take as
many turns as before.
"""

from __future__ import annotations

import ast
import functools
import linecache
from types import CodeType, FrameType

#: Answers of one place that are looked through.
_MOST_ANSWERS = 4096
#: How many answers before one say where it belongs: the more that are the same, the better.
_LENGTHS = (64, 32, 16, 8, 4, 2, 1, 0)


class EarlierAnswers:
    """By line of the script's, or of a library's: Python asks what a `while` asks in two places, before the loop and at its
    end, and both are one question."""

    def __init__(self) -> None:
        self._told: dict[tuple[CodeType, int], bytearray] = {}

    def note(self, frame: FrameType, answer: bool) -> None:
        """What was told here."""
        told = self._told.setdefault((frame.f_code, frame.f_lineno), bytearray())
        told.append(answer)
        if len(told) > 2 * _MOST_ANSWERS:
            del told[:_MOST_ANSWERS]

    def expected(self, frame: FrameType) -> bool | None:
        """What is to be told here, and is noted as told; None where nothing is known. A loop that was never seen to end
        would not end by this either."""
        told = self._told.get((frame.f_code, frame.f_lineno))
        if not told or (len(set(told)) == 1 and _is_test_of_loop(frame)):
            return None
        answer = bool(after(told))
        self.note(frame, answer)
        return answer


def after(told: bytearray) -> int:
    """What came the last time after what came now: after as many of the latest as were the same."""
    for length in _LENGTHS:
        if length < len(told):
            at = told.rfind(told[len(told) - length :], 0, len(told) - 1) if length else len(told) - 1
            if at >= 0:
                return told[at + length]
    return told[-1]


def _is_test_of_loop(frame: FrameType) -> bool:
    return frame.f_lineno in _lines_of_tests(frame.f_code.co_filename)


@functools.cache
def _lines_of_tests(path: str) -> frozenset[int]:
    """The lines on which a `while` asks whether to go on."""
    try:
        tree = ast.parse("".join(linecache.getlines(path)))
    except (SyntaxError, ValueError):
        return frozenset()
    tests = [node.test for node in ast.walk(tree) if isinstance(node, ast.While)]
    return frozenset(line for test in tests for line in range(test.lineno, (test.end_lineno or test.lineno) + 1))
