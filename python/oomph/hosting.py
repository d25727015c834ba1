"""One process of a plan whose job uses no card: the script runs as it is, and the host's memory is what is looked at.

Nothing is left out and nothing stands in for anything: values are computed, files are written (to the private layer),
memory is taken from the C library as in a real run. Only loops that take long end once their memory repeats.
"""

from __future__ import annotations

import os
import sys
import time
from types import ModuleType
from typing import Any

from .hollow import distributed, hostmemory
from .outcome import Outcome
from .planning import Session, check_version
from .watching import host
from .watching.loops import memory
from .watching.recorder import Recorder

#: What a small object takes on average.
_OBJECT_BYTES = 64
#: Calls of models, and seconds of work, after which a line that keeps memory is no longer looked for.
_MOST_CALLS = 1000
_MOST_SECONDS = 60


class HostRecorder(Recorder):
    """There is no history of a card: what is told is what tensors on the CPU are for."""

    def install(self, torch: ModuleType) -> None:
        """From the first line on."""
        self.recording = True
        self.on_start()

    def mark(self, name: str, stage: str, device: int = 0) -> None:
        """Moments matter where the host is looked at alone."""
        self.host.look()
        self.on_mark()

    def peaks(self, torch: ModuleType) -> list[dict[str, int]]:
        """What changes as long as the job gets anywhere."""
        tensor_bytes, allocated_bytes, *_ = self.host.numbers()
        return [{"index": 0, "peak_allocated_bytes": tensor_bytes, "peak_reserved_bytes": allocated_bytes}]


class HostSession(Session):
    """Everything known about the process."""

    def _make_recorder(self) -> Recorder:
        #: Outermost calls of modules that have parameters: transforms of data may be modules, too.
        self._model_calls = 0
        #: Looks for the line that keeps memory, where that is asked: it slows Python down and takes memory itself, so the
        #: run that measures goes without.
        self._growth = host.HostGrowth(self._on_growth) if self.settings.seeks_growth else None
        self._kept_at: dict[str, Any] | None = None
        #: Whether the script has started CUDA.
        self._has_cuda = False
        return HostRecorder(self.stream, self.host)

    def _numbers(self) -> memory.Numbers:
        tensor_bytes, allocated_bytes, _ = self.host.numbers()
        # A loop that only prepares data allocates too, and somebody waits for all of it: what counts is the model.
        resident_bytes, file_bytes = hostmemory.resident()
        host_bytes = self.host.heap_bytes() + sys.getallocatedblocks() * _OBJECT_BYTES + file_bytes
        held = host_bytes, tensor_bytes, resident_bytes
        return memory.Numbers(tensor_bytes, allocated_bytes, self._model_calls, 0, *held)

    def _on_torch(self, torch: ModuleType) -> None:
        check_version(torch)
        self.loops.follow_heap()
        self.host.install(is_filled=True)
        self.host_loaders.install(torch)
        torch.cuda._lazy_call(self._on_cuda)
        self.recorder.on_start = lambda: self.stream.stage("running without a card")
        self.recorder.on_mark = self._leave_for_card
        self.recorder.install(torch)
        self.modules.install(torch)
        self.modules.before_call = self._before_call
        self.steps.install(torch)
        distributed.install(self.note, self.following, self.settings)

    def _on_cuda(self) -> None:
        self._has_cuda = True

    def _is_on_card(self) -> bool:
        """Whether the job does use a card, later than anybody could know. Asking CUDA for something is no use of it: whoever
        saves the state of all random generators does that wherever there is a card, and not where there is none."""
        if not self._has_cuda:
            return False
        cuda = sys.modules["torch"].cuda
        return any(cuda.max_memory_reserved(device) for device in range(cuda.device_count()))

    def _leave_for_card(self) -> None:
        if self._is_on_card():
            self.leave(Outcome("card"))

    def _before_call(self, module: Any, _args: Any, _kwargs: Any) -> None:
        self._leave_for_card()
        if next(module.parameters(), None) is None:
            return
        self._model_calls += 1
        if self._growth is not None:
            self._growth.on_step(self._model_calls, 0)
            if self._model_calls >= _MOST_CALLS or time.process_time() >= _MOST_SECONDS:
                self.leave(Outcome("end"))

    def _on_growth(self, kind: str, told: dict[str, Any]) -> None:
        if kind == "host_growth":
            self._kept_at = {"file": told["file"], "line": told["line"]}
            self.leave(Outcome("end"))

    def _on_end(self) -> None:
        """Python ends as always: libraries that clean up behind themselves read files, which may be the peak of the job."""

    def save(self, how: Outcome) -> None:
        """Writes what is known; the last fact says that all is there."""
        if self._is_on_card():
            how = Outcome("card")
        torch = sys.modules.get("torch")
        if torch is not None:
            self.steps.tag_everything(torch)
        self.modules.flush()
        self.stream.write("end", {**self._facts(how, used_cuda=False), "kept_at": self._kept_at})
        self.stream.flush()
        self.host.tell_exit(os.path.join(self.stream.folder, "facts.jsonl"))
