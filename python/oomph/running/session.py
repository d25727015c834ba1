"""One process of a real run, from before the script's first line to its end."""

from __future__ import annotations

import atexit
import fcntl
import os
import sys
import time
from dataclasses import asdict
from types import ModuleType
from typing import Any

from .. import launch, notebook, outcome
from ..outcome import Outcome
from ..watching import imports, stepping
from ..watching.activity import Activity
from ..watching.host import HostGrowth
from ..watching.loaders import Loaders
from ..watching.modules import Modules
from . import caught, children
from .aside import Aside
from .allocator import Allocator
from .box import Box
from .history import History
from .settings import Settings
from .shortage import Shortage

#: PyTorch's own counters are read this often, when a step ends.
STATS_SECONDS = 0.25
#: How a process ended, as the box has it.
_ENDINGS = {"end": 1, "exit": 1, "error": 2, "oom": 3}
_OWN_FOLDER = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))


def begin(fields: dict[str, Any]) -> None:
    """Watches this process from now on."""
    aside = Aside()
    aside.guard(lambda: Session(Settings.of(fields), aside).install())()


class Session:
    """Everything that is known about the process."""

    def __init__(self, settings: Settings, aside: Aside) -> None:
        self.settings = settings
        self.aside = aside
        self.owner = os.getpid()
        self.box = Box(settings.library, _OWN_FOLDER)
        self.activity = Activity()
        self.modules = Modules(self.activity, self.box, self.box, notes_calls=False)
        self.steps = stepping.Steps(self.activity, self.box, self.modules, self.box)
        self.allocator = Allocator(settings.allocator, settings.limit_bytes)
        self.shortage = Shortage(self.box, settings.supervisor, self._look_closely)
        self.history = History(settings.folder)
        self.growth = HostGrowth(self.box.write)
        self.loaders = Loaders(self.box.write, self._open)
        self._on_open = aside.guard(self.loaders.on_event)
        self.outcome = Outcome("end")
        self._boxes = 0
        self._stats_at = 0.0
        self._devices: list[int] = []
        self._is_told = False

    def install(self) -> None:
        """Waits for torch, and for the end."""
        guard = self.aside.guard
        ours = children.hide(self.settings.hidden)
        children.follow(ours, imports.after_import)
        self.aside.tell = lambda text: self.box.write("note", text)
        imports.before_import("torch", guard(self.allocator.before_torch))
        imports.after_import("torch", guard(self._on_torch))
        os.register_at_fork(after_in_child=self._after_fork)
        path = launch.script_of(sys.orig_argv)
        if path is not None and notebook.is_notebook(path):
            launch.install(lambda code, name: compile(code, name, "exec"), lambda _code: None, lambda: None)

    def _on_torch(self, torch: ModuleType) -> None:
        self.allocator.after_torch()
        self._open()
        guard = self.aside.guard
        self.box.listen(self._on_event)
        caught.follow(self._on_fatal)
        atexit.register(guard(self.finish))
        self._exit, os._exit = os._exit, self._on_exit  # type: ignore[assignment]
        if torch.version.cuda is None:
            self.box.write("note", "this torch is built without CUDA: host memory alone is recorded")
        else:
            torch.cuda._lazy_call(guard(lambda: self._on_cuda(torch)))
        self.modules.know = guard(self.modules.know)  # type: ignore[method-assign]
        self.modules.install(torch)
        self.steps.install(torch, guard)
        self.steps.on_step = self._on_step
        self.shortage.install(torch)
        self.box.watch_host()
        guard(self.loaders.install)(torch)
        if self.settings.remedies:
            self._install_remedies(torch)

    def _install_remedies(self, torch: ModuleType) -> None:
        """Puts into the job what a plan found to make it fit."""
        from .. import remedies
        from ..remedies import models, retrying
        from ..remedies.desk import Desk

        guard = self.aside.guard
        desk = Desk(lambda name, kind, told: self.box.write("remedy", name, kind, told))
        desk.calls.install(models.records_graphs)
        self.modules.before_call = guard(desk.calls.about_to_call)
        remedies.install(torch, self.settings.remedies, desk, guard)
        guard(retrying.install)(torch, lambda text: self.box.write("note", text))

    def _open(self) -> None:
        """Makes the box of this process, if it has none yet."""
        if self.box.owner == os.getpid():
            return
        self._boxes += 1
        folder = self.settings.folder
        path = os.path.join(folder, f"{os.getpid()}-{self._boxes}.box") if folder else self._spare_box()
        problem = self.box.open(path, self.settings.box_bytes) if path else "there is no place for another box"
        if problem is not None:
            raise RuntimeError(f"there is no black box: {problem}")
        torch = sys.modules.get("torch")
        facts = {
            "pid": os.getpid(),
            "command": sys.orig_argv,
            "rank": _number(os.environ.get("RANK")),
            "local_rank": _number(os.environ.get("LOCAL_RANK")),
            "python": sys.version.split()[0],
            "torch": getattr(torch, "__version__", None),
            "cuda": getattr(getattr(torch, "version", None), "cuda", None),
            "package": _OWN_FOLDER,
        }
        self.box.write("process", facts)

    def _spare_box(self) -> str | None:
        """The first file that no process has written to, now this process's for as long as it lives."""
        for path in self.settings.spare_boxes:
            file = os.open(path, os.O_RDWR | os.O_CLOEXEC)
            try:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except OSError:
                os.close(file)
                continue
            if not any(os.pread(file, 8, 0)):
                return path
            os.close(file)
        return None

    def _on_cuda(self, torch: ModuleType) -> None:
        """A card is about to be used."""
        self.owner = os.getpid()
        self._open()
        refused = self.allocator.apply(torch)
        if refused is not None:
            self.box.write("note", refused)
        self._describe_cards(torch)
        problem = self.box.attach(torch)
        if problem is not None:
            self.box.write("note", self.history.start(torch, problem))
        self.box.recording = True

    def _describe_cards(self, torch: ModuleType) -> None:
        for index in range(torch.cuda.device_count()):
            properties = torch.cuda.get_device_properties(index)
            uuid = bytes.fromhex(str(getattr(properties, "uuid", "")).replace("GPU-", "").replace("-", ""))
            total_bytes = properties.total_memory
            self.box.device(index, uuid.ljust(16, b"\0")[:16], total_bytes, self.allocator.limit_of(total_bytes))
        self.box.write("backend", torch.cuda.memory.get_allocator_backend())

    def _on_step(self, step: int) -> None:
        now = time.monotonic()
        if now - self._stats_at >= STATS_SECONDS:
            self._stats_at = now
            self._tell_stats()
        self.growth.on_step(step, self.box.cpu_tensor_bytes())
        self.box.visit_at_seconds = 0.0 if self.growth.is_busy else self._stats_at + STATS_SECONDS

    def _tell_stats(self, all_devices: bool = False) -> None:
        """Writes PyTorch's own counters down."""
        torch: Any = sys.modules["torch"]
        if not torch.cuda.is_initialized():
            return
        devices = range(torch.cuda.device_count()) if all_devices else [torch.cuda.current_device()]
        for index in devices:
            stats = torch._C._cuda_memoryStats(index)
            values = [stats[kind]["all"][when] for kind in ("allocated_bytes", "reserved_bytes") for when in ("current", "peak")]
            values += [stats["num_alloc_retries"], stats["num_ooms"], 0, _pinned_bytes(torch)]
            self.box.stats(index, values)

    def _look_closely(self, torch: ModuleType) -> None:
        """Memory has run out: what is live now is what matters."""
        self.steps.tag_everything(torch)
        self._tell_stats(all_devices=True)

    # The ways a process ends

    def _on_event(self, event: str, arguments: tuple[Any, ...]) -> None:
        if event == "open":
            self._on_open(event, arguments)
        elif event == "sys.excepthook" and arguments[2] is not None:
            self._on_fatal(arguments[2])

    def _on_fatal(self, problem: BaseException) -> None:
        """An exception that nobody catches ends this process."""
        if os.getpid() == self.owner:
            self.outcome = self.aside.guard(outcome.of_exception)(problem, None) or Outcome("error")

    def _on_exit(self, code: int) -> None:
        self.aside.guard(self.finish)()
        self._exit(code)

    def _after_fork(self) -> None:
        """A fork is a process of its own. The library writes nothing there until it has a box of its own."""
        self.owner = -1
        self.box.recording = False
        self.box.owner = 0

    def finish(self) -> None:
        """Tells the end, once."""
        if self._is_told or os.getpid() != self.box.owner:
            return
        self._is_told = True
        self.steps.catch_up()
        self._tell_stats(all_devices=True)
        self.history.save(sys.modules["torch"])
        facts = {
            "outcome": asdict(self.outcome),
            "pid": os.getpid(),
            "steps": self.steps.done,
            "optimizers": self.steps.optimizers,
            "batches": self.activity.calls,
            "used_cuda": self.box.recording,
            "raised": self.shortage.raised,
        }
        self.box.write("end", facts)
        self.box.end(_ENDINGS.get(self.outcome.kind, 1), 0)


def _pinned_bytes(torch: Any) -> int:
    """What PyTorch keeps of pinned host memory, where this version tells."""
    stats = getattr(torch._C, "_cuda_hostMemoryStats", None)
    if stats is None:
        return 0
    told = stats()
    return int(told.get("allocated_bytes", {}).get("current", 0)) if isinstance(told, dict) else 0


def _number(text: str | None) -> int | None:
    return int(text) if text is not None and text.isdigit() else None
