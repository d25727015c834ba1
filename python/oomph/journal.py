"""Notes every change to the user's files before it happens, so that `oomph plan` can take it back.

A script writes logs, settings and folders for checkpoints, and removes old ones. It may: when the run is over, the
command goes through these notes from the last to the first. Python announces such calls to whoever listens; what
libraries in C do by themselves is not seen. Caches and temporary files are nobody's tree and stay.
"""

from __future__ import annotations

import contextlib
import functools
import json
import os
import shutil
import stat
import sys
import tempfile
import threading
from collections.abc import Callable
from types import ModuleType
from typing import Any

#: Larger files are not copied where the script writes them anew: they are set aside as they are.
RENEWED_BYTES_MAX = 64 << 20
#: Larger files are never copied: a script that wants to change one in place may, one that wants to remove it may not.
COPY_BYTES_MAX = 1 << 30
_WRITES = os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_TRUNC | os.O_APPEND


class Journal:
    """The notes of one run, also of the processes it forks."""

    def __init__(self, folder: str, tree: list[str], note: Callable[[str], None]) -> None:
        self.folder = os.path.realpath(folder)
        self.tree = [os.path.realpath(place) for place in tree]
        self.note = note
        self.kept: set[str] = set()
        self.count = 0
        self._busy = threading.local()
        home = os.path.expanduser("~")
        caches = [os.path.join(home, name) for name in (".cache", ".triton", ".nv")]
        caches += [os.environ[name] for name in ("XDG_CACHE_HOME", "TORCH_HOME", "HF_HOME") if os.environ.get(name)]
        self.caches = [os.path.realpath(place) for place in (*caches, sys.prefix, folder)]
        self.passing = [os.path.realpath(place) for place in (tempfile.gettempdir(), "/dev", "/proc", "/sys", "/run")]
        self._listeners: dict[str, Callable[..., None]] = {
            "open": self._on_open,
            "os.mkdir": lambda path, _mode, place=-1: self._made(path, place, "folder"),
            "os.symlink": lambda _source, path, place=-1: self._made(path, place, "file"),
            "os.link": lambda _source, path, _from=-1, place=-1: self._made(path, place, "file"),
            "os.remove": lambda path, place=-1: self._keep(path, place, gone=True),
            "os.rmdir": self._on_rmdir,
            "os.rename": self._on_rename,
            "os.truncate": lambda path, _length: self._keep(path, -1),
        }

    def install(self) -> None:
        """Listens from now on."""
        sys.addaudithook(self._on_event)

    def _on_event(self, event: str, arguments: tuple[Any, ...]) -> None:
        listener = self._listeners.get(event)
        if listener is None or getattr(self._busy, "now", False):
            return
        self._busy.now = True
        try:
            listener(*arguments)
        except (TypeError, ValueError):
            # A path that no file can have: the call itself will say so.
            pass
        finally:
            self._busy.now = False

    def install_torch(self, torch: ModuleType) -> None:
        """TorchScript and the profiler write from C++."""
        for owner, name in (
            (torch.jit._script.RecursiveScriptModule, "save"),
            (torch.autograd.profiler.profile, "export_chrome_trace"),
        ):
            setattr(owner, name, self._announcing(getattr(owner, name)))

    def _announcing(self, original: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(original)
        def save(owner: Any, path: Any, *args: Any, **kwargs: Any) -> Any:
            self.announce(os.fspath(path))
            return original(owner, path, *args, **kwargs)

        return save

    def announce(self, path: str) -> None:
        """A file will be written by somebody whom Python does not hear. Weights are nobody's to lose, wherever they lie."""
        self._busy.everywhere = True
        try:
            self._on_event("open", (path, None, os.O_WRONLY | os.O_CREAT | os.O_TRUNC))
        finally:
            self._busy.everywhere = False

    def _place(self, path: Any, folder: int = -1) -> str | None:
        """The real place of a path, if it belongs to the user."""
        if isinstance(path, int) or path is None:
            return None
        name = os.fsdecode(path)
        if folder >= 0:
            name = os.path.join(os.readlink(f"/proc/self/fd/{folder}"), name)
        name = os.path.join(os.path.realpath(os.path.dirname(os.path.abspath(name))), os.path.basename(name))
        if getattr(self._busy, "everywhere", False):
            return None if _below(name, [self.folder]) else name
        if _below(name, self.caches):
            return None
        return name if _below(name, self.tree) or not _below(name, self.passing) else None

    def _on_open(self, path: Any, _mode: Any, flags: int) -> None:
        if flags & _WRITES and (place := self._place(path)):
            if os.path.exists(place):
                place = os.path.realpath(place)
                renewed = bool(flags & os.O_TRUNC) and os.path.getsize(place) > RENEWED_BYTES_MAX
                if self._keep(place, -1, gone=renewed) and renewed:
                    # The bytes stay with the other name of the file.
                    os.remove(place)
            else:
                self._made(place, -1, "file")

    def _made(self, path: Any, folder: int, kind: str) -> None:
        place = self._place(path, folder)
        if place and not os.path.lexists(place):
            self._write({"made": place, "kind": kind})

    def _on_rmdir(self, path: Any, folder: int = -1) -> None:
        if place := self._place(path, folder):
            self._write({"removed": place})

    def _on_rename(self, source: Any, target: Any, source_folder: int = -1, target_folder: int = -1) -> None:
        old, new = self._place(source, source_folder), self._place(target, target_folder)
        if new and os.path.isfile(new):
            self._keep(target, target_folder, gone=True)
        if old and new:
            self._write({"moved": old, "to": new})
        elif new:
            self._made(target, target_folder, "file")
        elif old:
            self._keep(source, source_folder, gone=True)

    def _keep(self, path: Any, folder: int, *, gone: bool = False) -> bool:
        """Puts a file aside before it is changed in place, or is gone; whether it was."""
        place = self._place(path, folder)
        if not place or (place in self.kept and not gone) or not _is_file(place):
            return False
        self.kept.add(place)
        self.count += 1
        name = f"kept-{os.getpid()}-{self.count}"
        aside = os.path.join(self.folder, name)
        if gone:
            # On another file system than the notes a file can only lie beside itself.
            for other in (aside, os.path.join(os.path.dirname(place), f".oomph-{name}")):
                with contextlib.suppress(OSError):
                    os.link(place, other, follow_symlinks=False)
                    self._write({"linked": place, "aside": other})
                    return True
        if os.lstat(place).st_size > COPY_BYTES_MAX:
            if gone:
                raise PermissionError(f"oomph plan does not let go of {place}: it is too large to be put back")
            self.note(f"{place} may have been changed: it is too large to be put back")
            return False
        shutil.copy2(place, aside, follow_symlinks=False)
        self._write({"kept": place, "aside": aside})
        return True

    def _write(self, entry: dict[str, str]) -> None:
        self.note("what the script wrote to disk was taken back: a plan leaves nothing behind")
        with open(os.path.join(self.folder, "journal.jsonl"), "a", encoding="utf-8") as file:
            file.write(json.dumps(entry) + "\n")


def _is_file(place: str) -> bool:
    mode = os.lstat(place).st_mode if os.path.lexists(place) else 0
    return stat.S_ISREG(mode) or stat.S_ISLNK(mode)


def _below(place: str, roots: list[str]) -> bool:
    return any(place == root or place.startswith(root.rstrip(os.sep) + os.sep) for root in roots)
