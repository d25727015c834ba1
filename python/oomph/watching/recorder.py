"""PyTorch's own memory history, and beside it what only Python knows: steps, phases, and what a block was for."""

from __future__ import annotations

import ctypes
import json
import os
import pickle
import sys
import time
from collections.abc import Callable
from types import FrameType, ModuleType
from typing import TYPE_CHECKING, Any

from ..stream import Stream
from . import snapshots
from .reaching import begin_of, reach_of
from .sinks import Engine, Hook

if TYPE_CHECKING:
    # Real runs import this module too, and what is loaded there must not look like a plan.
    from ..hollow.hostmemory import HostMemory

#: Entries of history kept by PyTorch: some hundred steps of a large model.
MAX_ENTRIES = 4_000_000
#: Frames of this package stand between those of the script.
_OWN_FOLDER = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))


def now_us() -> int:
    """The clock of the history's own events."""
    return time.time_ns() // 1000


class Recorder:
    """Writes down what happens while the script runs; keeps the history for its end."""

    def __init__(self, stream: Stream, host: HostMemory) -> None:
        self.stream = stream
        self.host = host
        self.recording = False
        #: Called with each moment that is noted.
        self.on_mark: Callable[[], None] = lambda: None
        #: Called when a card is used for the first time.
        self.on_start: Callable[[], None] = lambda: None
        #: Called when a request is about to be refused.
        self.on_shortage: Callable[[], None] = lambda: None
        #: Out-of-memory errors that reached Python. PyTorch itself catches others, while it looks for an algorithm.
        self.raised = 0
        #: Stacks, innermost call first: function, file, line.
        self.stacks: dict[tuple[tuple[str, str, int], ...], int] = {}

    def install(self, torch: ModuleType) -> None:
        """Starts the history with the first use of CUDA, not before: the script may still choose its devices."""
        torch.cuda._lazy_call(lambda: self._start(torch))

        def __init__(problem: Any, *args: Any) -> None:
            self.raised += 1
            RuntimeError.__init__(problem, *args)

        torch.OutOfMemoryError.__init__ = __init__

    def _start(self, torch: ModuleType) -> None:
        # Not the stacks of frees: they happen while exceptions pass by, which looking at the stack can swallow.
        torch.cuda.memory._record_memory_history(context="alloc", stacks="python", max_entries=MAX_ENTRIES)
        # A script that goes on has let go of everything by the time somebody could ask what it was for.
        torch._C._cuda_attach_out_of_memory_observer(lambda *_request: self.on_shortage())
        self.recording = True
        self.on_start()

    def mark(self, name: str, stage: str, device: int = 0) -> None:
        """Notes a moment: the start or the end of a stretch."""
        if self.recording:
            self.host.look()
            self.on_mark()
            self.stream.write("mark", now_us(), device, name, stage)

    def mark_step(self, step: int) -> None:
        """Notes that a step begins."""
        self.host.step_began()
        self.mark(f"step {step}", "START")

    def count_batch(self, _batches: int) -> None:
        """Plans read it from the activity."""

    def wants_tags(self, _step: int) -> bool:
        """A plan looks at every step."""
        return True

    def tagging(self) -> float:
        """Nobody counts the time of a plan."""
        return 0.0

    def tagged(self, _began: float) -> None:
        """Tags are written as they come."""

    def hooks(self, engine: Engine, began: Callable[[], None], before: Hook, after: Hook) -> tuple[Engine, Hook, Hook]:
        """Marks where backward passes begin and end; the others are called as they are."""
        is_backward = False

        def run_backward(*args: Any, **kwargs: Any) -> Any:
            nonlocal is_backward
            # One within another, which a hook or a custom function starts, belongs to the outer one.
            if is_backward:
                return engine(*args, **kwargs)
            is_backward = True
            began()
            self._mark_caller(sys._getframe(1))
            self.mark("backward", "START")
            try:
                return engine(*args, **kwargs)
            finally:
                is_backward = False
                self.mark("backward", "END")

        return run_backward, before, after

    def lead(self, _optimizer: int, _step: int) -> None:
        """A plan sees every step."""

    def led_steps(self) -> int:
        """None that a plan has not seen."""
        return 0

    def _mark_caller(self, frame: FrameType | None) -> None:
        """Notes who starts a backward pass: autograd's own threads do not know."""
        if not self.recording:
            return
        calls = []
        while frame is not None:
            path = frame.f_code.co_filename
            if not path.startswith((_OWN_FOLDER, "<oomph>", "<frozen runpy>")):
                calls.append((frame.f_code.co_name, path, frame.f_lineno))
            frame = frame.f_back
        self.stream.write("caller", now_us(), self.stacks.setdefault(tuple(calls), len(self.stacks)))

    def tag(self, tensor: Any, category: str, time_us: int, module: int | None = None) -> None:
        """Says what the storage of a tensor is for, and which module's."""
        # A distributed tensor has no storage of its own; its part on this card has.
        tensor = getattr(tensor, "_local_tensor", tensor)
        try:
            if tensor.device.type == "cuda":
                self.tag_block(tensor.device.index or 0, begin_of(tensor), category, time_us, module)
            elif tensor.device.type == "cpu":
                self.host.tag(begin_of(tensor), reach_of(tensor), category)
        except (AttributeError, RuntimeError, NotImplementedError):
            return

    def tag_block(self, device: int, address: int, category: str, time_us: int, module: int | None = None) -> None:
        """Says what the block at this address of a card is for."""
        if address:
            self.stream.write("tag", time_us, device, address, category, module)

    def totals(self, torch: ModuleType) -> dict[str, Any]:
        """What the allocator and the hollow card counted."""
        library = ctypes.CDLL(None)
        devices = []
        for peaks in self.peaks(torch):
            index = peaks["index"]
            stats = torch.cuda.memory_stats(index)
            free_bytes, total_bytes = torch.cuda.mem_get_info(index)
            devices.append(
                {
                    **peaks,
                    "name": torch.cuda.get_device_name(index),
                    "retries": stats.get("num_alloc_retries", 0),
                    "free_bytes": free_bytes,
                    "total_bytes": total_bytes,
                    "peak_device_bytes": _counter(library, "oomph_hollow_peak_device_bytes", index),
                    "nccl_bytes": _counter(library, "oomph_hollow_nccl_bytes", index) or 0,
                }
            )
        return {
            "devices": devices,
            "unmodelled": _told(library, "oomph_hollow_unmodelled") or {},
            "estimates": _told(library, "oomph_hollow_estimates") or [],
            "workspaces": _told(library, "oomph_hollow_workspaces") or [],
        }

    def peaks(self, torch: ModuleType) -> list[dict[str, int]]:
        """What the allocator has had at most so far, by device."""
        found = []
        for index in range(torch.cuda.device_count()):
            stats = torch.cuda.memory_stats(index)
            kinds = {f"peak_{kind}_bytes": stats.get(f"{kind}_bytes.all.peak", 0) for kind in ("allocated", "reserved")}
            found.append({"index": index, **kinds})
        return found

    def dump(self, torch: ModuleType, path: str) -> None:
        """Writes the history as PyTorch's own tools would."""
        with open(path, "wb") as file:
            pickle.dump(snapshots.take(torch), file, protocol=4)


def _counter(library: ctypes.CDLL, name: str, device: int) -> int | None:
    function = getattr(library, name, None)
    if function is None:
        return None
    function.restype = ctypes.c_uint64
    function.argtypes = [ctypes.c_int]
    return int(function(device))


def _told(library: ctypes.CDLL, name: str) -> Any:
    """What a function of the hollow card tells as JSON; None where there is no such function."""
    function = getattr(library, name, None)
    if function is None:
        return None
    function.restype = ctypes.c_size_t
    function.argtypes = [ctypes.c_char_p, ctypes.c_size_t]
    needed = function(None, 0)
    buffer = ctypes.create_string_buffer(needed + 1)
    function(buffer, needed + 1)
    text = buffer.value.decode("utf-8", "replace")
    return json.loads(text) if text else None
