"""The black box of this process, through the library that writes it."""

from __future__ import annotations

import ctypes
import json
import os
import sys
import time
from array import array
from collections.abc import Callable
from types import ModuleType, SimpleNamespace
from typing import Any

from ..watching.reaching import begin_of
from ..watching.sinks import Engine, Hook

#: Room for one sentence of the library's.
_SENTENCE_BYTES = 512
#: Room for the answer to a question.
_ANSWER_BYTES = 4096
_STAGES = {"START": 0, "END": 1}
#: By number, as the box has them.
_CATEGORIES = {"parameter": 1, "gradient": 2, "optimizer_state": 3, "buffer": 7, "loaded": 7}
_PHASES = {"forward": 1, "optimizer": 3, "evaluation": 4}
#: Looking what tensors are for may take this part of the time.
_TAGGING_SHARE = 0.002
#: Steps whose tensors are always looked at: what they are for is new.
_FIRST_STEPS = 3
#: Modules are counted from 1 in the box.
_NO_MODULE = 0
#: The numbers of the library's own functions for Python.
_STATE, _CPU_TENSOR_BYTES, _PHASE, _LED_STEPS, _BEFORE_STEP, _AFTER_STEP, _RUN_BACKWARD = range(7)
_NANOSECONDS = 1e9


class Box:
    """Writes down what happens; the library itself hears every allocation."""

    def __init__(self, library: str, own_folder: str) -> None:
        self._native: Any = SimpleNamespace()
        self._declare(ctypes.PyDLL(library))
        self._own_folder = own_folder
        self._names: dict[str, int] = {}
        self._tags: dict[str, tuple[array[int], array[int]]] = {}
        self._tagging_seconds = 0.0
        self._tagged_at = 0.0
        self._has_steps, self._batches = False, 0
        #: When Python wants to see a step, by the monotonic clock; until then they are counted without it.
        self.visit_at_seconds = 0.0
        #: The process whose box it is; 0 while there is none.
        self.owner = 0
        #: Whether a card is used and recorded.
        self.recording = False

    def _declare(self, library: ctypes.PyDLL) -> None:
        """Types are given once: a call without them takes twice as long."""
        u8, u32, u64, i32, text = ctypes.c_uint8, ctypes.c_uint32, ctypes.c_uint64, ctypes.c_int32, ctypes.c_char_p
        pointer = ctypes.c_void_p
        functions: dict[str, tuple[Any, list[Any]]] = {
            "open": (i32, [text, u64, pointer, u64]),
            "attach": (i32, [pointer, u64]),
            "python": (i32, [text, u64, text]),
            "device": (None, [i32, text, u64, u64]),
            "mark": (None, [u32, u32]),
            "name": (u32, [text]),
            "tags": (None, [u8, u64, pointer, pointer]),
            "stats": (None, [i32, pointer, u64]),
            "fact": (None, [text, u64]),
            "question": (u64, [text, u64]),
            "answer": (i32, [u64, pointer, u64]),
            "end": (None, [u32, i32]),
            "function": (ctypes.py_object, [u32]),
            "host": (i32, [i32]),
            "listen": (i32, [ctypes.py_object]),
            "steps": (i32, [ctypes.py_object, ctypes.py_object, ctypes.py_object]),
            "lead": (None, [u64, u64, u64]),
        }
        for name, (result, arguments) in functions.items():
            function = getattr(library, f"oomph_recorder_{name}")
            function.restype, function.argtypes = result, arguments
            setattr(self._native, name, function)
        # What is called in every step is a function of Python's own.
        self._state = self._native.function(_STATE)
        self._set_phase = self._native.function(_PHASE)
        #: What live tensors in host memory take.
        self.cpu_tensor_bytes: Callable[[], int] = self._native.function(_CPU_TENSOR_BYTES)
        #: Steps that were counted without Python since this was last called.
        self.led_steps: Callable[[], int] = self._native.function(_LED_STEPS)

    def open(self, path: str, size_bytes: int) -> str | None:
        """Makes the box; returns what stands in the way."""
        problem = ctypes.create_string_buffer(_SENTENCE_BYTES)
        if self._native.open(os.fsencode(path), size_bytes, ctypes.addressof(problem), _SENTENCE_BYTES) != 0:
            return problem.value.decode("utf-8", "replace")
        self.owner = os.getpid()
        self._names.clear()
        return None

    def attach(self, torch: ModuleType) -> str | None:
        """Hears the allocator from now on; returns what stands in the way."""
        call = torch.nn.Module._call_impl.__code__
        if self._native.python(b"%08x" % sys.hexversion, id(call), os.fsencode(self._own_folder)) != 0:
            self.write("note", "lines are not recorded: this Python keeps its frames in a way that oomph does not know")
        problem = ctypes.create_string_buffer(_SENTENCE_BYTES)
        if self._native.attach(ctypes.addressof(problem), _SENTENCE_BYTES) != 0:
            return problem.value.decode("utf-8", "replace")
        return None

    # What only Python knows

    def mark(self, name: str, stage: str, _device: int = 0) -> None:
        """Notes a moment: the start or the end of a stretch."""
        if not self.recording:
            return
        if name in _PHASES:
            # Forward is what is left when the others end.
            self._set_phase(_PHASES[name] if stage == "START" else _PHASES["forward"])
            return
        number = self._names.get(name)
        if number is None:
            number = self._names[name] = self._native.name(name.encode())
        self._native.mark(number, _STAGES[stage])

    def mark_step(self, step: int) -> None:
        """Notes that a step begins."""
        if self.recording:
            self._has_steps = True
            self._state(step, self._batches, _PHASES["forward"])

    def count_batch(self, batches: int) -> None:
        """Keeps how many outermost calls of modules are done; where there are no steps, they are what is counted."""
        self._batches = batches
        if self.recording and not self._has_steps:
            self._state(0, batches, _PHASES["forward"])

    def hooks(self, engine: Engine, _began: Callable[[], None], before: Hook, after: Hook) -> tuple[Engine, Hook, Hook]:
        """The library's own functions, which call these where there is more to do than to count."""
        if self._native.steps(engine, before, after) != 0:
            raise RuntimeError("this Python does not let libraries call it")
        run_backward, before_step, after_step = map(self._native.function, (_RUN_BACKWARD, _BEFORE_STEP, _AFTER_STEP))
        return run_backward, before_step, after_step

    def lead(self, optimizer: int, step: int) -> None:
        """From now on the library counts the steps of the optimizer at this place, until Python wants to see one."""
        if self.recording:
            tags_at_seconds = self._tagged_at + self._tagging_seconds / _TAGGING_SHARE if step >= _FIRST_STEPS else 0.0
            times = (int(seconds * _NANOSECONDS) for seconds in (tags_at_seconds, self.visit_at_seconds))
            self._native.lead(optimizer, *times)

    def wants_tags(self, step: int) -> bool:
        """Whether there is time to look what tensors are for."""
        if not self.recording:
            return False
        wait_seconds = self._tagging_seconds / _TAGGING_SHARE
        if step > _FIRST_STEPS and time.monotonic() - self._tagged_at < wait_seconds:
            return False
        self._tagging_seconds = 0.0
        return True

    def tag(self, tensor: Any, category: str, _time_us: int, module: int | None = None) -> None:
        """Says what the storage of a tensor is for, and which module's, if it lies on a card."""
        # A distributed tensor has no storage of its own; its part on this card has.
        tensor = getattr(tensor, "_local_tensor", tensor)
        try:
            if tensor.is_cuda:
                address = begin_of(tensor)
                addresses, modules = self._tags.setdefault(category, (array("Q"), array("I")))
                addresses.append(address)
                modules.append(_NO_MODULE if module is None else module + 1)
        except (AttributeError, RuntimeError, NotImplementedError):
            return

    def tagging(self) -> float:
        """Begins to look what tensors are for."""
        return time.monotonic()

    def tagged(self, began: float) -> None:
        """Writes the tags down, and what they took."""
        for category, (addresses, modules) in self._tags.items():
            if addresses:
                where, whose = addresses.buffer_info()[0], modules.buffer_info()[0]
                self._native.tags(_CATEGORIES.get(category, 7), len(addresses), where, whose)
        self._tags.clear()
        self._tagged_at = time.monotonic()
        self._tagging_seconds += self._tagged_at - began

    def device(self, ordinal: int, uuid: bytes, total_bytes: int, limit_bytes: int) -> None:
        """Says which card a device is."""
        self._native.device(ordinal, uuid, total_bytes, limit_bytes)

    def stats(self, ordinal: int, values: list[int]) -> None:
        """What PyTorch's own counters say: allocated now and at most, reserved likewise, retries, errors, free."""
        numbers = array("Q", values)
        self._native.stats(ordinal, numbers.buffer_info()[0], len(numbers))

    def listen(self, callback: Callable[[str, tuple[Any, ...]], None]) -> None:
        """Calls back, from now on, for each file that is opened and each exception that nobody caught."""
        if self._native.listen(callback) != 0:
            self.write("note", "how the script fails is not told: this Python does not let libraries hear its events")

    def watch_host(self) -> None:
        """Hears of tensors in host memory too."""
        self._native.host(1)

    def ask(self, question: dict[str, Any], patience_seconds: float) -> str | None:
        """Asks `oomph`, which reads the box; None if there is no answer in time."""
        text = json.dumps(question).encode()
        number = self._native.question(text, len(text))
        if number == 0:
            return None
        answer = ctypes.create_string_buffer(_ANSWER_BYTES)
        until = time.monotonic() + patience_seconds
        while time.monotonic() < until:
            if self._native.answer(number, ctypes.addressof(answer), _ANSWER_BYTES) == 0:
                return answer.value.decode("utf-8", "replace")
            time.sleep(0.005)
        return None

    def end(self, how: int, exit_code: int) -> None:
        """Says how the process ends."""
        self._native.end(how, exit_code)

    def write(self, kind: str, *values: Any) -> None:
        """Writes one fact, as plans do."""
        if self.owner == os.getpid():
            text = json.dumps([kind, *values]).encode()
            self._native.fact(text, len(text))

    def stage(self, _text: str) -> None:
        """Whoever looks at the box sees how far the job is."""

    def flush(self) -> None:
        """What is in the box is there for all to see."""
