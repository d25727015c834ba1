"""Lets a script run through all of its parts without running all of its iterations.

The user's modules are compiled so that their loops can be watched (`rewriting`); each iteration that does something on
the card is measured (`visits`); once another one would show nothing new (`deciding`), the loop ends as if its data were
used up, so that validation, checkpoints and the next epoch come early.
"""

from __future__ import annotations

import builtins
import os
import sys
from collections.abc import Callable, Iterable
from importlib.machinery import SourceFileLoader
from types import CodeType, FrameType, ModuleType
from typing import Any

from .. import imports
from ..activity import Activity
from . import frames, libraries, memory, places, rewriting, running
from .sites import Site
from .walk import Walk


class Loops:
    """The loops of this process."""

    def __init__(
        self,
        activity: Activity,
        recorder: Any,
        report: Callable[[dict[str, Any]], None],
        walk: bool,
        numbers: Callable[[], memory.Numbers] = memory.numbers,
    ) -> None:
        self._walk = Walk(activity, recorder, report, numbers, is_walking=walk)
        self._places = places.Places()
        self._is_worker_next = False

    def install(self) -> None:
        """From now on: files that are imported, and the script itself through `compile_main`."""
        running.use(self._walk)
        for name, function in (
            (rewriting.LOOP, running.loop),
            (rewriting.ENTER, running.enter),
            (rewriting.TAKEN, running.taken),
            (rewriting.ASKED, running.asked),
        ):
            setattr(builtins, name, function)
        self._watch_imports()
        os.register_at_fork(before=self._before_fork, after_in_child=self._after_fork)
        imports.after_import("torch", _on_torch)
        imports.after_import("torch._dynamo", _on_dynamo)

    def follow_heap(self) -> None:
        """What is resident counts: a loop that grows, or whose heap does, is run as long as patience lasts."""
        budget = self._walk.budget
        budget.moderate, budget.heap_seconds_left = sys.maxsize, budget.HEAP_SECONDS

    def compile_main(self, source: bytes, path: str) -> CodeType:
        """The code of the script. Raises what `compile` raises."""
        return self._compiled(source, path, _nothing_more)

    def turn(self, frame: FrameType, line: int) -> object:
        """Of the `while` at this line of a frame: what changes if it is begun anew, or counts its way to something."""
        for record in self._walk.records:
            site = record.site
            if site.line == line and site.statement == "while" and site.file == frame.f_code.co_filename:
                values = frames.read(frame, site.leaves())
                return record.entries, {leaf: value for leaf, value in values.items() if type(value) in (bool, int, float)}
        return None

    def listing(self) -> list[dict[str, Any]]:
        """What is known of each loop that drove the job, in the order of the source."""
        return [record.facts() for record in self._walk.records if record.is_on_card]

    def need_whole(self, places: Iterable[tuple[str, int]]) -> None:
        """From now on: the loops at these files and lines are run to their end, where there is time for that."""
        self._walk.needed_whole = frozenset(places)

    def ended_early(self) -> list[dict[str, Any]]:
        """The loops that were ended before their own end, the latest first: what the script raises may come from that."""
        latest_first = dict.fromkeys(record.site for record in reversed(self._walk.ended_early))
        return [{"file": site.file, "line": site.line} for site in latest_first]

    def _compiled(self, source: bytes, path: str, complete: Callable[[Site], None]) -> CodeType:
        try:
            return rewriting.compiled(source, path, self._walk, complete)
        except RecursionError:
            # Expressions so long that Python compiles but cannot visit them: such a file keeps its loops.
            return compile(source, path, "exec", dont_inherit=True)

    def _before_fork(self) -> None:
        self._is_worker_next = self._walk.recorder.recording

    def _after_fork(self) -> None:
        """A fork of a process that uses a card cannot use it: it prepares data, all of which somebody waits for."""
        self._walk.is_on = self._walk.is_on and not self._is_worker_next

    def _watch_imports(self) -> None:
        original = SourceFileLoader.get_code

        def get_code(loader: SourceFileLoader, fullname: str) -> CodeType | None:
            path = loader.get_filename(fullname)
            library = libraries.of_module(fullname)
            if library is None and not self._places.is_users(path):
                return original(loader, fullname)
            complete = library.complete if library is not None else _nothing_more
            return self._compiled(loader.get_data(path), path, complete)

        SourceFileLoader.get_code = get_code  # type: ignore[method-assign, assignment]


def _nothing_more(_site: Site) -> None:
    """The user's loops are known from their source alone."""


def _on_torch(torch: ModuleType) -> None:
    running.use_compiler(torch.compiler.is_compiling)


def _on_dynamo(dynamo: ModuleType) -> None:
    # Some version may lack it: then our functions are compiled where they are met, which costs time alone.
    skip = getattr(dynamo.eval_frame, "skip_code", None)
    if skip is not None:
        running.leave_alone(skip)
