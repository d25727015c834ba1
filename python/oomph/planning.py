"""One process of a plan, from before the script's first line to its results on disk."""

from __future__ import annotations

import atexit
import builtins
import os
import signal
import sys
import threading
from dataclasses import asdict
from types import CodeType, ModuleType
from typing import Any

from . import launch, outcome, remedies, standing
from .hollow import checkpoints, distributed, drawing, endless, following, generations, hostcost, hostloaders, hostmemory
from .hollow import installed, reads, smi
from .outcome import Outcome, Unusable
from .remedies import models
from .remedies.desk import Desk
from .settings import Settings
from .stream import Stream
from .values.budget import Budget
from .values.recording import Recorder
from .watching import imports, recorder, scaling, stepping
from .watching.activity import Activity
from .watching.loops import Loops, memory
from .watching.modules import Modules
from .watching.survey import Survey

#: The versions whose allocator writes what the reader of snapshots knows.
OLDEST_TORCH = (2, 6)
NEWEST_TORCH = (2, 15)
#: Optimizer steps and batches after which a job that has not used a card will not.
_STEPS_WITHOUT_CARD = 2
_BATCHES_WITHOUT_CARD = 512
#: What the script calls after its imports, through a name that no script has.
_IMPORTED = "__oomph_imported__"


def begin(fields: dict[str, Any]) -> None:
    """Watches this process from now on."""
    settings = Settings.of(fields)
    if is_stand_in(settings, os.environ):
        # Another process of the job stands for this one, which its launcher believes to have done its work.
        os._exit(0)
    if settings.host_only:
        # Only jobs without a card need it.
        from .hosting import HostSession

        HostSession(settings).install()
    else:
        Session(settings).install()


def is_stand_in(settings: Settings, environment: Any) -> bool:
    """Whether this process was started by a launcher as one of many, and another one of them is planned."""
    rank = environment.get("RANK", "")
    is_launched = os.getppid() != settings.supervisor and "WORLD_SIZE" in environment
    return is_launched and rank.isdigit() and bool(settings.ranks) and int(rank) not in settings.ranks


class Session:
    """Everything known about the process."""

    def __init__(self, settings: Settings) -> None:
        self.settings = settings
        self.is_first = os.getppid() == settings.supervisor
        self.owner = os.getpid()
        self.stream = Stream(settings.folder)
        self.activity = Activity()
        self.host = hostmemory.HostMemory()
        self.host_loaders = hostloaders.HostLoaders()
        self.recorder = self._make_recorder()
        # What is written down lies in memory first, where a job without a card is measured.
        self.modules = Modules(self.activity, self.recorder, self.stream, notes_calls=not settings.host_only)
        self.watch = endless.Watch(self._progress, self._leave_endless, lambda frame, line: self.loops.turn(frame, line))
        self.reads = reads.Reads(self.watch.on_read)
        self.draws = drawing.Draws(self.note)
        self.values = _recorder(settings.values)
        self.following = following.Following(self.reads, self.watch.check, self.draws.catch_up, self.values)
        limits = stepping.Limits(settings.steps, settings.batches, self.stop)
        self.steps = stepping.Steps(self.activity, self.recorder, self.modules, self.stream, limits)
        self.steps.on_step = self._on_step
        self.scaling = scaling.Scaling(self.recorder)
        self.loops = Loops(self.activity, self.recorder, self._on_loop, settings.walk, self._numbers)
        self.loops.need_whole(settings.whole_loops)
        self.checkpoints = checkpoints.Checkpoints(self.recorder, self.note)
        self.desk = Desk(lambda name, kind, told: self.stream.write("remedy", name, kind, told))
        self.survey = Survey(self.stream, self.desk.calls) if settings.survey else None
        self.standing = standing.Standing(self) if settings.stands else None
        self.notes: list[str] = []
        self.outcome = Outcome("end")
        self.saved = False

    def install(self) -> None:
        """Waits for torch, for the script, and for the end."""
        self.settle = installed.install()
        smi.Desk(self.settings.folder).install()
        sys.addaudithook(self._on_event)
        atexit.register(self.finish)
        os.register_at_fork(after_in_child=self._after_fork)
        self._exit, os._exit = os._exit, self._on_exit  # type: ignore[assignment]
        if threading.current_thread() is threading.main_thread():
            signal.signal(self.settings.stop_signal, self._on_stop_signal)
        imports.before_import("torch", lambda: self.stream.stage("importing torch"))
        imports.after_import("torch", self._on_torch)
        imports.after_import("safetensors.torch", self.checkpoints.install_safetensors)
        self.loops.install()
        launch.install(self._compile_main, self._on_system_exit, self._on_end)

    def _make_recorder(self) -> recorder.Recorder:
        return recorder.Recorder(self.stream, self.host)

    def _numbers(self) -> memory.Numbers:
        """Of the heap tensors alone: the history of what happens on the card lies there, too."""
        return memory.numbers(self.host.numbers()[0])

    def resume(self, settings: Settings, told: str) -> None:
        """This process was forked where the script's own work begins: it is the job's first process from now on."""
        self.settings = settings
        self.loops.need_whole(settings.whole_loops)
        self.is_first = True
        self.stream.move(settings.folder, told)
        smi.Desk(settings.folder).install()
        self.watch.install()

    def _compile_main(self, source: bytes, path: str) -> CodeType:
        if self.standing is not None:
            source = self.standing.prepare(source)
        else:
            setattr(builtins, _IMPORTED, self._on_imported)
            source = standing.with_call(source, _IMPORTED) or source
        return self.loops.compile_main(source, path)

    def _on_imported(self) -> None:
        """The script has imported what it imports at its top level."""
        delattr(builtins, _IMPORTED)
        self.host.imports_bytes = hostmemory.resident()[0]

    def _on_step(self, _step: int) -> None:
        """A job that trains on the CPU is not run to its end before it is run again as it is."""
        is_busy = self.activity.steps >= _STEPS_WITHOUT_CARD or self.activity.calls >= _BATCHES_WITHOUT_CARD
        if is_busy and self.settings.needs_card and not self.recorder.recording:
            self.leave(Outcome("no_card"))

    def note(self, text: str) -> None:
        """Keeps something the reader of the plan should know, once."""
        if text not in self.notes:
            self.notes.append(text)

    def _on_loop(self, facts: dict[str, Any]) -> None:
        self.stream.write("loop", facts)

    def _progress(self) -> object:
        """What changes as long as the run gets anywhere; None before it uses a card."""
        if not self.recorder.recording:
            return None
        return self.activity.steps, self.recorder.peaks(sys.modules["torch"])

    def _on_torch(self, torch: ModuleType) -> None:
        check(torch)
        self.host.install(is_filled=False)
        self.host_loaders.install(torch)
        torch.cuda._lazy_call(self.settle)
        generations.install(torch, self.note)
        self.recorder.install(torch)
        self.recorder.on_start = lambda: self.stream.stage("building the model")
        self.recorder.on_shortage = lambda: self.steps.tag_everything(torch)
        self.modules.install(torch)
        self.steps.install(torch)
        self.scaling.install(torch)
        if self.standing is None:
            self.watch.install()
        self.reads.install(torch)
        self.following.install(torch)
        self.draws.install(torch)
        short = hostcost.install(torch, self.draws, self.host, is_complete=self.values is not None)
        self.checkpoints.install(torch, self.following.values, short)
        distributed.install(self.note, self.following, self.settings)
        self._install_remedies(torch)

    def _install_remedies(self, torch: ModuleType) -> None:
        self.desk.calls.install(models.records_graphs)
        self.modules.before_call = self.desk.calls.about_to_call
        if self.survey is not None:
            self.survey.install(torch)
            self.modules.on_note = self.recorder.on_mark = self.survey.work.measure
        if self.standing is None:
            remedies.install(torch, self.settings.remedies, self.desk, lambda function: function)
        else:
            self.standing.on_torch()

    # The ways a process ends

    def _on_event(self, event: str, arguments: tuple[Any, ...]) -> None:
        if event == "sys.excepthook" and os.getpid() == self.owner:
            problem = arguments[2]
            if isinstance(problem, endless.Endless):
                self.outcome = self.outcome_of_endless()
            elif problem is not None:
                self.outcome = outcome.of_exception(problem, self.reads.last)

    def _on_system_exit(self, code: Any) -> None:
        """Numbers are told by the process's own exit code; anything else is a message."""
        if code is not None and not isinstance(code, int):
            self.outcome = Outcome("exit", message=str(code))

    def _on_end(self) -> None:
        """The script has come to its end: does what Python does then, but for taking its heap apart."""
        if self.recorder.recording and os.getpid() == self.owner:
            threading._shutdown()  # type: ignore[attr-defined]
            atexit._run_exitfuncs()
            self._on_exit(0)

    def _leave_endless(self) -> None:
        self.leave(self.outcome_of_endless())

    def outcome_of_endless(self) -> Outcome:
        """What the steps before have shown is worth keeping."""
        if not self.activity.steps:
            return Outcome("endless", message=self.watch.message())
        self.note(f"the run was ended: {self.watch.message()}")
        return Outcome("stopped")

    def _on_stop_signal(self, *_arguments: Any) -> None:
        self.leave(Outcome("interrupted"))

    def stop(self) -> None:
        """The planned steps are done."""
        self.leave(Outcome("stopped"))

    def leave(self, how: Outcome) -> None:
        """Keeps the result and ends the process at once: giving terabytes back to nobody takes time."""
        if os.getpid() != self.owner:
            return
        self.outcome = how
        self._on_exit(0)

    def _on_exit(self, code: int) -> None:
        self.finish()
        for stream in (sys.stdout, sys.stderr):
            try:
                stream.flush()
            except (OSError, ValueError, AttributeError):
                pass
        self._exit(code)

    def _after_fork(self) -> None:
        """A fork is a process of its own, which may use a card if this one had not; else it is a worker's."""
        self.owner = -1 if self.recorder.recording else os.getpid()
        self.recorder.recording = False
        self.is_first = False
        self.stream.restart()

    def finish(self) -> None:
        """Keeps the result, once."""
        if self.saved or os.getpid() != self.owner:
            return
        self.saved = True
        if self.recorder.recording or self.is_first:
            self.save(self.outcome)

    def save(self, how: Outcome) -> None:
        """Writes the snapshot, then what is known about it; the last fact says that all is there."""
        torch = sys.modules.get("torch")
        facts = self._facts(how, used_cuda=self.recorder.recording)
        if torch is not None and self.recorder.recording:
            self.stream.stage("reading the result")
            self.steps.tag_everything(torch)
            self.modules.flush()
            if self.survey is not None:
                self.survey.work.flush()
            facts.update(self.recorder.totals(torch))
            caught = self.recorder.raised - (how.kind == "oom")
            if caught > 0:
                self.note(f"the script caught {caught} out-of-memory errors and went on")
            self.stream.write("stacks", list(self.recorder.stacks))
            self.recorder.dump(torch, os.path.join(self.stream.folder, "snapshot.pickle"))
        self.stream.write("end", facts)
        self.stream.flush()

    def _facts(self, how: Outcome, *, used_cuda: bool) -> dict[str, Any]:
        torch = sys.modules.get("torch")
        return {
            "outcome": asdict(how),
            "is_first": self.is_first,
            "pid": os.getpid(),
            "command": sys.orig_argv,
            "rank": distributed.rank(),
            "python": sys.version.split()[0],
            "torch": getattr(torch, "__version__", None),
            "cuda": getattr(getattr(torch, "version", None), "cuda", None),
            "steps": self.steps.done,
            "optimizers": self.steps.optimizers,
            "batches": self.activity.calls,
            "reads": self.reads.listing(),
            "values": self.values.account() if self.values is not None else None,
            "scaled": self.scaling.first,
            "loops": self.loops.listing(),
            "ended_early": self.loops.ended_early(),
            "used_cuda": used_cuda,
            "host": self.host.facts(),
            "loaders": self.host_loaders.facts(),
            "notes": self.notes,
        }


def _recorder(wanted: dict[str, Any] | None) -> Recorder | None:
    if wanted is None:
        return None
    # oneDNN takes the processor at its word about instructions that a virtual machine may not have.
    os.environ.setdefault("ONEDNN_MAX_CPU_ISA", "AVX512_CORE_BF16")
    # Large results come and go: without huge pages, most of the time goes into getting their memory from the system.
    os.environ.setdefault("THP_MEM_ALLOC_ENABLE", "1")
    budget = Budget(wanted["seconds"], wanted["host_bytes"])
    return Recorder(budget, has_updates=wanted["updates"])


def check(torch: ModuleType) -> None:
    """Raises if this torch cannot be planned with."""
    version = str(getattr(torch, "__version__", ""))
    if torch.version.cuda is None:
        built = "for ROCm" if getattr(torch.version, "hip", None) else "for the CPU only"
        raise Unusable("cpu_torch", f"torch {version} in {sys.executable} is built {built}")
    check_version(torch)


def check_version(torch: ModuleType) -> None:
    """Raises if this torch is none that oomph knows."""
    version = str(getattr(torch, "__version__", ""))
    numbers = tuple(int(part) for part in version.split("+")[0].split(".")[:2] if part.isdigit())
    if not OLDEST_TORCH <= numbers <= NEWEST_TORCH:
        fault = "old" if numbers < OLDEST_TORCH else "new"
        raise Unusable("torch_version", f"torch {version} in {sys.executable} is too {fault} for this oomph")
