"""How a script ended, and what is told about it."""

from __future__ import annotations

import os
import re
import sys
import traceback
from collections.abc import Iterator
from dataclasses import dataclass

_HERE = os.path.dirname(os.path.abspath(__file__))
_GENERATED = "<oomph>"
#: How the driver and NVIDIA's libraries say that the card is full: cuBLAS makes its handle, and takes memory for it, at
#: the first product, NCCL its buffers at the first collective, when PyTorch may hold everything already.
_LIBRARY_SHORTAGE = re.compile(
    r"CUDA error: out of memory|Cuda failure(?: \d+)? 'out of memory'|\b(?:CU\w+|NVRTC)_(?:\w+_)?ALLOC(?:ATION)?_FAILED\b"
)


class Unusable(BaseException):
    """The interpreter lacks what a plan needs. Not an `Exception`: scripts that catch those must not swallow it."""

    def __init__(self, reason: str, message: str) -> None:
        super().__init__(message)
        #: A word for programs.
        self.reason = reason


@dataclass(frozen=True)
class Outcome:
    """How the script ended."""

    #: `end`, `stopped`, `interrupted`, `oom`, `error`, `exit`, `endless`, `unusable`, `no_card` or `card`.
    kind: str
    #: A word for programs where it was `unusable`.
    reason: str | None = None
    #: The exception's type and text, in one line.
    message: str | None = None
    #: The script's own traceback, without the frames of this package.
    traceback: str | None = None


def of_exception(problem: BaseException, last_read: tuple[str, int, str] | None) -> Outcome:
    """What the script raised, and the last value it had read by then that nobody knows: it may have led there."""
    if isinstance(problem, Unusable):
        return Outcome("unusable", reason=problem.reason, message=str(problem))
    if isinstance(problem, ModuleNotFoundError) and problem.name == "torch":
        return Outcome("unusable", reason="no_torch", message=f"{sys.executable} has no torch")
    kind = "oom" if any(map(is_out_of_memory, _with_causes(problem))) else "error"
    shown = without_own_frames(traceback.TracebackException(type(problem), problem, problem.__traceback__))
    if last_read is not None and last_read[0] and kind == "error":
        file, line, assumed = last_read
        shown += f"Before that, {file}:{line} read values from the card, which a plan cannot know and took to be: {assumed}\n"
    return Outcome(kind, message=_in_one_line(problem), traceback=shown)


def _in_one_line(problem: BaseException) -> str:
    """The exception's type and the first line of its text. PyTorch passes on what a loader's worker or a process that it
    started has raised, with that one's whole traceback as the text: then what that one says.
    """
    text = str(problem)
    _, header, passed_on = text.rpartition("Traceback (most recent call last):\n")
    if header:
        frames_over = (line for line in passed_on.splitlines() if line and not line[0].isspace())
        if (raised := next(frames_over, None)) is not None:
            return raised
    first_line = (text.splitlines() or [""])[0]
    return f"{type(problem).__name__}: {first_line}".rstrip(": ")


def _with_causes(problem: BaseException | None) -> Iterator[BaseException]:
    """An exception and those it was raised from: libraries say in words of their own what they were doing."""
    seen: set[int] = set()
    while problem is not None and id(problem) not in seen:
        seen.add(id(problem))
        yield problem
        problem = problem.__cause__


def is_out_of_memory(problem: BaseException) -> bool:
    """Whether memory ran out on the card: PyTorch's allocator, or a library that takes its own beside it."""
    out_of_memory = getattr(sys.modules.get("torch"), "OutOfMemoryError", None)
    if out_of_memory is not None and isinstance(problem, out_of_memory):
        return True
    # PyTorch passes the driver's and the libraries' words on in errors of its own, which are all `RuntimeError`s.
    return isinstance(problem, RuntimeError) and _LIBRARY_SHORTAGE.search(str(problem)) is not None


def without_own_frames(told: traceback.TracebackException) -> str:
    """The traceback as it would be without the steps that the script takes through this package."""
    pending: list[traceback.TracebackException | None] = [told]
    while pending:
        part = pending.pop()
        if part is not None:
            own = [frame for frame in part.stack if not _is_own(frame.filename)]
            part.stack = traceback.StackSummary.from_list(own)
            pending += [part.__cause__, part.__context__]
    return "".join(told.format())


def _is_own(path: str) -> bool:
    return path == _GENERATED or path == "<frozen runpy>" or os.path.abspath(path).startswith(_HERE)
