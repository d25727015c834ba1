"""Facts about the run, written down as they come to be known: what a process that is killed knew is not lost."""

from __future__ import annotations

import json
import os
import time
from typing import IO, Any

#: Stages that follow one another faster than this are of no use to people who wait.
STAGE_SECONDS = 0.05
#: Seconds that facts may wait in memory.
PATIENCE_SECONDS = 0.25


class Stream:
    """The facts of this process, one JSON list a line: the kind of fact first."""

    def __init__(self, folder: str) -> None:
        self._job_folder = folder
        self._file: IO[str] | None = None
        self._flushed = 0.0
        self._stage, self._staged = "", 0.0
        #: Where this process keeps its results.
        self.folder = ""

    def restart(self) -> None:
        """This is another process now: its facts are its own."""
        self._file, self.folder = None, ""

    def move(self, folder: str, told: str) -> None:
        """The results of this process go elsewhere from now on, after what was told before."""
        self._job_folder = folder
        self.restart()
        if told:
            self._open().write(told)

    def told(self) -> str:
        """Everything that this process has told so far."""
        if not self.folder:
            return ""
        self.flush()
        with open(os.path.join(self.folder, "facts.jsonl"), encoding="utf-8") as file:
            return file.read()

    def write(self, kind: str, *values: Any) -> None:
        """Writes one fact."""
        file = self._file or self._open()
        file.write(json.dumps([kind, *values]) + "\n")
        now = time.monotonic()
        if now - self._flushed > PATIENCE_SECONDS:
            self._flushed = now
            file.flush()

    def flush(self) -> None:
        """Lets everybody see what was written."""
        if self._file is not None:
            self._file.flush()

    def stage(self, text: str) -> None:
        """Says what the job is doing now, for people who wait."""
        now = time.monotonic()
        if text == self._stage or now - self._staged < STAGE_SECONDS:
            return
        self._stage, self._staged = text, now
        try:
            with open(os.path.join(self._job_folder, "stage"), "w", encoding="utf-8") as file:
                file.write(text)
        except OSError:
            # Nobody learns how far the job is, which is no reason to disturb it.
            return

    def _open(self) -> IO[str]:
        self.folder = os.path.join(self._job_folder, "processes", f"{os.getpid()}-{time.monotonic_ns()}")
        os.makedirs(self.folder)
        self._file = open(os.path.join(self.folder, "facts.jsonl"), "w", encoding="utf-8")  # noqa: SIM115 - kept open
        return self._file
