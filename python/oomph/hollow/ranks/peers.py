"""Starts the processes that this one cannot do without: those whose objects it reads.

They are the same command with another number, in the same private layer of files.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable, Iterable
from typing import Any

from .alone import NobodyThere, place_of_caller
from .launching import place_variables
from .post import Post

#: What a process of a plan takes on the host, about, before its script does anything.
_PROCESS_BYTES = 1 << 30
_VARIABLE = "OOMPH_JOB"
#: How launchers other than PyTorch's number the processes: of the job, and of the machine.
_OTHER_NUMBERS = {
    "SLURM_PROCID": False, "SLURM_LOCALID": True, "OMPI_COMM_WORLD_RANK": False, "OMPI_COMM_WORLD_LOCAL_RANK": True,
    "PMI_RANK": False,
}  # fmt: skip

#: As this process found them, before the script changed anything.
_ENVIRONMENT = dict(os.environ)
_FOLDER = os.getcwd()


class Peers:
    """The processes that run beside this one."""

    def __init__(self, folder: str, post: Post, note: Callable[[str], None], *, has_all: bool) -> None:
        self.folder = folder
        self.post = post
        self.note = note
        #: Whether a launcher starts every process anyway.
        self._has_all = has_all
        self.world_size = 1
        self._started: set[int] = set()

    def start(self, ranks: Iterable[int]) -> None:
        """Starts processes, but for those that run already."""
        missing = [rank for rank in ranks if rank != self.post.rank and not self.post.is_known(rank)]
        if not missing or self._has_all:
            return
        self._check_memory(len(missing))
        # Known before any runs: they look for one another.
        for rank in [rank for rank in missing if self.post.announce(rank, os.getpid())]:
            self._start(rank)
        numbers = ", ".join(map(str, sorted({self.post.rank, *self._started})))
        self.note(f"processes {numbers} were run together, since one waits for what another sends")

    def _start(self, rank: int) -> None:
        command = [sys.executable, *sys.orig_argv[1:]]
        process = subprocess.Popen(command, env=self._environment(rank), cwd=_FOLDER, stdin=subprocess.DEVNULL)
        # Not asked for its end by anybody: `oomph` waits for it, and ends it with the job.
        process.returncode = 0
        self.post.set_pid(rank, process.pid)
        self._started.add(rank)
        # Whoever follows the job knows of the process from now on, although it has told nothing yet.
        place = os.path.join(self.folder, "processes", f"{process.pid}-0")
        os.makedirs(place, exist_ok=True)
        with open(os.path.join(place, "facts.jsonl"), "w", encoding="utf-8"):
            pass

    def _environment(self, rank: int) -> dict[str, str]:
        settings: dict[str, Any] = json.loads(os.environ.get(_VARIABLE) or _ENVIRONMENT[_VARIABLE])
        on_machine = int(_ENVIRONMENT.get("LOCAL_WORLD_SIZE") or self.world_size)
        found = {**_ENVIRONMENT, _VARIABLE: json.dumps({**settings, "ranks": [rank], "stands": False})}
        if "RANK" in found:
            found.update(place_variables(rank, on_machine, self.world_size))
        for name, is_local in _OTHER_NUMBERS.items():
            if name in found:
                found[name] = str(rank % on_machine if is_local else rank)
        return found

    def _check_memory(self, count: int) -> None:
        try:
            with open("/proc/meminfo", encoding="ascii") as file:
                found = dict(line.split(":") for line in file)
            free_bytes = int(found["MemAvailable"].split()[0]) << 10
        except (OSError, KeyError, ValueError):
            return
        if count * _PROCESS_BYTES > free_bytes:
            raise NobodyThere(
                f"{place_of_caller()} exchanges objects with {count} processes that would have to run at once, and "
                f"this machine has memory for {free_bytes // _PROCESS_BYTES} more"
            )
