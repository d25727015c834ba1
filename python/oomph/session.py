"""One watched run, from before the script's first line to the result on disk."""

from __future__ import annotations

import json
import os
import sys
import traceback
from collections.abc import Callable
from dataclasses import asdict, dataclass
from types import ModuleType
from typing import Any

from . import checkpoints, distributed, drawing, endless, following, hostcost, imports
from . import reads, recorder, scaling, stepping
from .errors import Unusable
from .journal import Journal
from .settings import Settings

#: The versions whose allocator writes what the reader of snapshots knows.
OLDEST_TORCH = (2, 6)
NEWEST_TORCH = (2, 15)


class Stop(BaseException):
    """The planned steps are done. Like `SystemExit`, it passes through everything that catches `Exception`."""


@dataclass(frozen=True)
class Outcome:
    """How the script ended."""

    #: `end`, `stopped`, `oom`, `error`, `exit`, `endless` or `unusable`.
    kind: str
    #: A word for programs where it was `unusable`.
    reason: str | None = None
    #: The exception's type and text, in one line.
    message: str | None = None
    #: The script's own traceback, without the frames of this package.
    traceback: str | None = None


def outcome_of_exit(problem: SystemExit) -> Outcome:
    """`sys.exit()` and `sys.exit(0)` are an end like any other."""
    if problem.code is None or problem.code == 0:
        return Outcome("end")
    # Anything but a number is a message, which Python would print.
    is_number = isinstance(problem.code, int)
    return Outcome("exit", message=f"exit code {problem.code}" if is_number else str(problem.code))


def outcome_of_failure(problem: BaseException, last_read: tuple[str, int, str] | None) -> Outcome:
    """What the script raised, and the last value it had read by then that nobody knows: it may have led there."""
    torch = sys.modules.get("torch")
    out_of_memory = getattr(torch, "OutOfMemoryError", None)
    kind = "oom" if out_of_memory is not None and isinstance(problem, out_of_memory) else "error"
    if isinstance(problem, ModuleNotFoundError) and problem.name == "torch":
        return Outcome("unusable", reason="no_torch", message=f"{sys.executable} has no torch")
    here = os.path.dirname(os.path.abspath(__file__))
    place = problem.__traceback__
    while place is not None and os.path.abspath(place.tb_frame.f_code.co_filename).startswith(here):
        place = place.tb_next
    shown = _without_own_frames(traceback.TracebackException(type(problem), problem, place), here)
    if last_read is not None and last_read[0] and kind == "error":
        file, line, assumed = last_read
        shown += f"Before that, {file}:{line} read values of the card, which a plan cannot know and took for: {assumed}\n"
    first_line = (str(problem).splitlines() or [""])[0]
    return Outcome(kind, message=f"{type(problem).__name__}: {first_line}".rstrip(": "), traceback=shown)


def _without_own_frames(told: traceback.TracebackException, here: str) -> str:
    """The traceback as it would be without the steps that operators take through this package."""
    pending: list[traceback.TracebackException | None] = [told]
    while pending:
        part = pending.pop()
        if part is not None:
            own = [frame for frame in part.stack if not os.path.abspath(frame.filename).startswith(here)]
            part.stack = traceback.StackSummary.from_list(own)
            pending += [part.__cause__, part.__context__]
    return "".join(told.format())


class Session:
    """Everything known about the run."""

    def __init__(self, settings: Settings, settle: Callable[[], None]) -> None:
        self.settings = settings
        self.settle = settle
        self.owner = os.getpid()
        self.recorder = recorder.Recorder()
        self.watch = endless.Watch(self._progress)
        self.reads = reads.Reads(self.watch.on_read)
        self.draws = drawing.Draws(self.note)
        self.following = following.Following(self.reads, self.watch.check, self.draws.catch_up)
        self.steps = stepping.Steps(settings.steps, settings.batches, self.recorder, self.stop)
        self.scaling = scaling.Scaling(self.recorder)
        self.notes: list[str] = []
        self.saved = False

    def install(self, journal: Journal) -> None:
        """Waits for torch."""
        journal.install()
        self.journal = journal
        self.checkpoints = checkpoints.Checkpoints(journal.announce, self.recorder, self.note)
        imports.after_import("torch", self._on_torch)
        imports.after_import("safetensors.torch", self.checkpoints.install_safetensors)

    def note(self, text: str) -> None:
        """Keeps something the reader of the plan should know, once."""
        if text not in self.notes:
            self.notes.append(text)

    def _progress(self) -> object:
        """What changes as long as the run gets anywhere; None before it uses a card."""
        if not self.recorder.recording:
            return None
        return self.steps.done, self.recorder.peaks(sys.modules["torch"])

    def _on_torch(self, torch: ModuleType) -> None:
        check(torch)
        torch.cuda._lazy_call(self.settle)
        self.recorder.install(torch)
        self.recorder.on_shortage = lambda: self.steps.tag_everything(torch)
        self.steps.install(torch)
        self.scaling.install(torch)
        self.watch.install()
        self.reads.install(torch)
        self.following.install(torch)
        self.draws.install(torch)
        short = hostcost.install(torch, self.draws)
        self.checkpoints.install(torch, self.following.values, short)
        self.journal.install_torch(torch)
        distributed.install(self.note, self.following.forget_arguments)

    def outcome_of_endless(self) -> Outcome:
        """What the steps before have shown is worth keeping."""
        if not self.steps.done:
            return Outcome("endless", message=self.watch.message())
        self.note(f"the run was ended: {self.watch.message()}")
        return Outcome("stopped")

    def stop(self) -> None:
        """The planned steps are done: keeps the result and leaves the script.

        A script that swallows even this is left for good at its next step.
        """
        if os.getpid() != self.owner:
            return
        if self.saved:
            os._exit(0)
        self.save(Outcome("stopped"))
        raise Stop

    def finish(self, outcome: Outcome) -> None:
        """Keeps the result, unless that was done when the run was stopped."""
        if not self.saved:
            self.save(outcome)

    def save(self, outcome: Outcome) -> None:
        """Writes the snapshot, then what is known about it; the second file says that both are whole."""
        self.saved = True
        torch = sys.modules.get("torch")
        facts: dict[str, Any] = {
            "outcome": asdict(outcome),
            "python": sys.version.split()[0],
            "torch": getattr(torch, "__version__", None),
            "cuda": getattr(getattr(torch, "version", None), "cuda", None),
            "notes": self.notes,
            "steps": self.steps.done,
            "optimizers": self.steps.optimizers,
            "batches": self.steps.batches_done,
            "reads": self.reads.listing(),
            "scaled": self.scaling.first,
            "used_cuda": False,
        }
        if torch is not None and self.recorder.recording:
            self.steps.tag_everything(torch)
            facts.update(used_cuda=True, marks=self.recorder.marks, tags=self.recorder.tags)
            facts.update(callers=self.recorder.callers, stacks=list(self.recorder.stacks))
            facts.update(self.recorder.totals(torch))
            caught = sum(device["ooms"] for device in facts["devices"])
            if caught and outcome.kind != "oom":
                self.note(f"the script caught {caught} out-of-memory errors and went on")
            self.recorder.dump(torch, os.path.join(self.settings.folder, "snapshot.pickle"))
        path = os.path.join(self.settings.folder, "facts.json")
        with open(path + ".part", "w", encoding="utf-8") as file:
            json.dump(facts, file)
        os.replace(path + ".part", path)


def check(torch: ModuleType) -> None:
    """Raises if this torch cannot be planned with."""
    version = str(getattr(torch, "__version__", ""))
    if torch.version.cuda is None:
        built = "for ROCm" if getattr(torch.version, "hip", None) else "for the CPU only"
        raise Unusable("cpu_torch", f"torch {version} in {sys.executable} is built {built}")
    numbers = tuple(int(part) for part in version.split("+")[0].split(".")[:2] if part.isdigit())
    if not OLDEST_TORCH <= numbers <= NEWEST_TORCH:
        fault = "old" if numbers < OLDEST_TORCH else "new"
        raise Unusable("torch_version", f"torch {version} in {sys.executable} is too {fault} for this oomph")
