"""A process that stops after the script's imports and forks one run after another from there.

The script runs up to its last import at the top level, in its own order and with everything that stands before it. A
fork goes on from there, with remedies and cards of its own. Where the script has done something by then that two runs
cannot share, the process says so, and every run is a process of its own.
"""

from __future__ import annotations

import ast
import builtins
import ctypes
import json
import os
import signal
import stat
import sys
import threading
import time
from types import FunctionType, ModuleType
from typing import Any

from . import remedies
from .settings import Settings

#: What the script calls after its last import, through a name that no script has.
_CALL = "__oomph_stand__"
#: Seconds between two looks for an order.
_PAUSE_SECONDS = 0.002
_PR_SET_PDEATHSIG = 1


def with_call(source: bytes, name: str = _CALL) -> bytes | None:
    """The script with a call after its last import at the top level, its lines where they were; None if it has none."""
    try:
        tree = ast.parse(source)
    except (SyntaxError, ValueError):
        return None
    imports = [node for node in tree.body if isinstance(node, (ast.Import, ast.ImportFrom))]
    lines = source.split(b"\n")
    # Other ends of lines, and other encodings, would be counted otherwise than here.
    if not imports or b"\r" in source.replace(b"\r\n", b"") or b"coding" in b"".join(lines[:2]) or b"\f" in source:
        return None
    last = imports[-1]
    line, column = lines[(last.end_lineno or 0) - 1], last.end_col_offset or 0
    lines[(last.end_lineno or 0) - 1] = line[:column] + f"; {name}()".encode() + line[column:]
    return b"\n".join(lines)


class Standing:
    """The process until it is forked."""

    def __init__(self, session: Any) -> None:
        self.session = session
        self.folder: str = session.settings.folder
        self._with_torch: set[str] = set()
        self._runs = 0
        self._inherited = _open_files()

    def prepare(self, source: bytes) -> bytes:
        """The script with the call that stops it."""
        prepared = with_call(source)
        if prepared is None:
            self._say("the script imports nothing at its top level")
        setattr(builtins, _CALL, self.stand)
        return prepared or source

    def on_torch(self) -> None:
        """Notes what is there when remedies would be put in."""
        self._with_torch = set(sys.modules)

    def stand(self) -> None:
        """Returns in forks alone, one for each order."""
        delattr(builtins, _CALL)
        self._say(self._obstacle())
        told = self.session.stream.told()
        while True:
            order = self._next_order()
            process = os.fork()
            if not process:
                self._begin(order, told)
                return
            _, status = os.waitpid(process, 0)
            self._write(f"served-{self._runs}", str(status))

    def _obstacle(self) -> str:
        """Why two runs cannot begin here; empty where they can."""
        activity = self.session.activity
        if "torch" not in sys.modules:
            return "the script has not imported torch by then"
        if self.session.recorder.recording or activity.optimizers or activity.total:
            return "the script has begun its work by then"
        if threading.active_count() > 1:
            return "the script has started threads by then"
        own = self.session.stream.folder
        if any(not (own and path.startswith(own)) for path in _open_files() - self._inherited):
            return "the script has opened files by then"
        return "" if _can_use_cards() else "the script has asked for a card by then"

    def _say(self, problem: str) -> None:
        self._write("ready", problem)
        if problem:
            os.kill(os.getpid(), signal.SIGKILL)

    def _write(self, name: str, text: str) -> None:
        path = os.path.join(self.folder, name)
        with open(f"{path}.new", "w", encoding="utf-8") as file:
            file.write(text)
        os.rename(f"{path}.new", path)

    def _next_order(self) -> dict[str, str]:
        self._runs += 1
        path = os.path.join(self.folder, f"order-{self._runs}")
        while not os.path.exists(path):
            time.sleep(_PAUSE_SECONDS)
        with open(path, encoding="utf-8") as file:
            order: dict[str, str] = json.load(file)
        return order

    def _begin(self, order: dict[str, str], told: str) -> None:
        """What this process would have found, had it been started by itself."""
        ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
        os.environ.update(order)
        fields = json.loads(order["OOMPH_JOB"])
        fields.pop("kind")
        self.session.resume(Settings.of(fields), told)
        before = _functions()
        remedies.install(
            sys.modules["torch"], self.session.settings.remedies, self.session.desk, lambda function: function
        )
        self._pass_on(before)

    def _pass_on(self, before: dict[tuple[str, str], FunctionType]) -> None:
        """Gives modules that were imported after torch the functions that they would have imported from it."""
        now = _functions()
        replaced = {id(old): now[place] for place, old in before.items() if now.get(place) not in (None, old)}
        if not replaced:
            return
        for name, module in list(sys.modules.items()):
            if name in self._with_torch and name != "__main__":
                continue
            for key, value in list(vars(module).items() if isinstance(module, ModuleType) else ()):
                if type(value) is FunctionType and id(value) in replaced:
                    setattr(module, key, replaced[id(value)])


def _functions() -> dict[tuple[str, str], FunctionType]:
    """The functions of torch's modules, by their places."""
    modules = [(name, module) for name, module in sys.modules.items() if name.partition(".")[0] == "torch"]
    return {
        (name, key): value
        for name, module in modules
        if isinstance(module, ModuleType)
        for key, value in list(vars(module).items())
        if type(value) is FunctionType
    }


def _open_files() -> set[str]:
    """The files and connections that are open, which every fork shares with the others."""
    found = set()
    for name in os.listdir("/proc/self/fd"):
        try:
            mode, path = os.fstat(int(name)).st_mode, os.readlink(f"/proc/self/fd/{name}")
        except OSError:
            continue
        if stat.S_ISREG(mode) or stat.S_ISSOCK(mode) or stat.S_ISFIFO(mode):
            found.add(path)
    return found


def _can_use_cards() -> bool:
    """Whether a fork can use a card: not where this process has asked for one. A fork that tries it knows."""
    process = os.fork()
    if not process:
        usable = False
        try:
            usable = sys.modules["torch"].cuda.is_available()
        finally:
            os.kill(os.getpid(), signal.SIGTERM if usable else signal.SIGKILL)
    _, status = os.waitpid(process, 0)
    return os.WIFSIGNALED(status) and os.WTERMSIG(status) == signal.SIGTERM
