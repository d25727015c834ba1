"""What processes of one plan send one another: files in the folder of results, in the order in which they were sent.

Only what a script reads on the host is sent. A process that waits for it finds out when nobody will send it any more:
the other one has ended, or waits itself.
"""

from __future__ import annotations

import os
import pickle
import time
from typing import Any

from .alone import NobodyThere, place_of_caller

#: Seconds between two looks for a file.
_PAUSE_SECONDS = 0.01
#: Seconds between two looks at the other processes.
_LOOK_SECONDS = 0.25
#: Looks in a row at which everybody waits and nothing was sent, after which nothing will be.
_LOOKS_MAX = 8
#: For everybody who asks.
EVERYBODY = -1


class Post:
    """The messages to and from this process."""

    def __init__(self, folder: str) -> None:
        self.folder = os.path.join(folder, "ranks")
        #: The number of this process, once it is known.
        self.rank = 0
        self._sent: dict[str, int] = {}
        self._read: dict[str, int] = {}

    def join(self, rank: int) -> bool:
        """Says that this process is there, under a number; false where another one was."""
        self.rank = rank
        return self.announce(rank, os.getpid())

    def announce(self, rank: int, pid: int) -> bool:
        """Says that a process with a number is there or about to be; false where one was already."""
        os.makedirs(self.folder, exist_ok=True)
        try:
            with open(os.path.join(self.folder, f"process-{rank}"), "x", encoding="utf-8") as file:
                file.write(str(pid))
        except FileExistsError:
            return False
        return True

    def set_pid(self, rank: int, pid: int) -> None:
        """Says which process it became."""
        self._write(f"process-{rank}", str(pid).encode())

    def is_known(self, rank: int) -> bool:
        """Whether a process with this number is or was there."""
        return os.path.exists(os.path.join(self.folder, f"process-{rank}"))

    def send(self, receiver: int, channel: str, thing: Any) -> None:
        """Sends something; nobody waits for its arrival."""
        line = f"{self.rank}-{receiver}-{channel}"
        number = self._sent[line] = self._sent.get(line, 0) + 1
        os.makedirs(self.folder, exist_ok=True)
        self._write(f"message-{line}-{number}", pickle.dumps(thing))

    def receive(self, sender: int, receiver: int, channel: str) -> Any:
        """Waits for the next message of a sender. One that is over and has sent something is taken to send it again."""
        line = f"{sender}-{receiver}-{channel}"
        number = self._read.get(line, 0) + 1
        if not self._wait(sender, f"message-{line}-{number}"):
            number -= 1
            if not number:
                place = place_of_caller()
                raise NobodyThere(f"{place} waits for what process {sender} sends, which ends without sending it")
        self._read[line] = number
        with open(os.path.join(self.folder, f"message-{line}-{number}"), "rb") as file:
            return pickle.loads(file.read())  # noqa: S301 - another process of this plan wrote it

    def _wait(self, sender: int, name: str) -> bool:
        """Whether the file comes."""
        path, mark = os.path.join(self.folder, name), f"waiting-{self.rank}"
        looked, still, seen = time.monotonic(), 0, -1
        if not os.path.exists(path):
            self._write(mark, str(sender).encode())
        while not os.path.exists(path):
            time.sleep(_PAUSE_SECONDS)
            if time.monotonic() - looked < _LOOK_SECONDS:
                continue
            looked = time.monotonic()
            if not self._is_alive(sender):
                break
            sent, everybody_waits = self._state()
            still = still + 1 if everybody_waits and sent == seen else 0
            seen = sent
            if still > _LOOKS_MAX:
                raise NobodyThere(f"{place_of_caller()} waits for what process {sender} sends, and all others wait too")
        self._remove(mark)
        return os.path.exists(path)

    def _state(self) -> tuple[int, bool]:
        """How many messages were sent, and whether every process that lives waits for one."""
        names = os.listdir(self.folder)
        numbers = [int(name.split("-")[1]) for name in names if name.startswith("process-")]
        waiting = {int(name.split("-")[1]) for name in names if name.startswith("waiting-")}
        sent = sum(name.startswith("message-") for name in names)
        return sent, all(number in waiting for number in numbers if self._is_alive(number))

    def _is_alive(self, rank: int) -> bool:
        """Whether a process is there: one that has ended and was not asked for its end is not."""
        try:
            with open(os.path.join(self.folder, f"process-{rank}"), encoding="utf-8") as file:
                pid = file.read()
            with open(f"/proc/{pid}/stat", encoding="utf-8", errors="replace") as file:
                state = file.read().rpartition(")")[2].split()[0]
        except (OSError, IndexError):
            return False
        return state not in ("Z", "X")

    def _write(self, name: str, data: bytes) -> None:
        """Files appear whole or not at all."""
        path = os.path.join(self.folder, name)
        draft = os.path.join(self.folder, f"draft-{os.getpid()}")
        with open(draft, "wb") as file:
            file.write(data)
        os.replace(draft, path)

    def _remove(self, name: str) -> None:
        try:
            os.remove(os.path.join(self.folder, name))
        except FileNotFoundError:
            return
