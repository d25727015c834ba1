"""Which module of the model is running, and whose a parameter is.

Blocks that libraries allocate deep inside `trainer.train()` have no line of the user's to stand for; their module has a
path that everybody knows (`model.layers.7.mlp`).
"""

from __future__ import annotations

import functools
import threading
import weakref
from collections.abc import Callable
from types import ModuleType
from typing import Any

from .activity import Activity
from .recorder import now_us
from .sinks import Recording, Telling

#: Calls and returns that are written down together.
BATCH = 4096
#: Modules that the script calls itself, of which so many are known again at once.
ROOTS_MAX = 1000
#: Stands for a return in the list of calls.
RETURN = -1


class Modules:
    """Numbers modules by their paths, and writes down when each one's forward pass runs."""

    def __init__(self, activity: Activity, recorder: Recording, stream: Telling, notes_calls: bool = True) -> None:
        self.activity = activity
        self.recorder = recorder
        self.stream = stream
        #: Number by module: valid as long as the module lives.
        self._numbers: weakref.WeakKeyDictionary[Any, int] = weakref.WeakKeyDictionary()
        #: Those that the script calls, by their place in memory.
        self._roots: dict[int, weakref.ref[Any]] = {}
        self._owners: dict[int, tuple[Any, int]] = {}
        self._paths: dict[tuple[str, str], int] = {}
        self._calls: list[int] = []
        #: Whether every call is written down. The recorder of a real run reads modules from the stack instead, which
        #: costs a job nothing; it needs to know where each module lies.
        self._notes_calls = notes_calls
        #: Called with the module and its arguments before each outermost call of one.
        self.before_call: Callable[[Any, Any, Any], None] | None = None
        #: Called with each call and return that is written down.
        self.on_note: Callable[[], None] = lambda: None
        #: Called after each outermost call of a module.
        self.on_call: Callable[[], None] | None = None
        self._records_graphs: Callable[[], bool] = lambda: False
        self._main = threading.get_ident()

    def install(self, torch: ModuleType) -> None:
        """Stands around every call of a module. Under `torch.compile` it is as if it were not there."""
        base = torch.nn.Module
        original = base.__call__
        self._records_graphs = torch.is_grad_enabled
        is_compiling = torch.compiler.is_compiling
        modules, activity, get_ident = self, self.activity, threading.get_ident

        # PyTorch's profiler knows these functions by their place, and the module by the name `self`.
        @functools.wraps(original)
        def __call__(self: Any, *args: Any, **kwargs: Any) -> Any:
            if is_compiling() or get_ident() != modules._main:
                return original(self, *args, **kwargs)
            if activity.depth == 0:
                return modules._outermost(original.__get__(self), self, args, kwargs)
            activity.depth += 1
            modules._enter(self)
            try:
                return original(self, *args, **kwargs)
            finally:
                activity.depth -= 1
                modules._note(RETURN)

        @functools.wraps(original)
        def outermost_alone(self: Any, *args: Any, **kwargs: Any) -> Any:
            if activity.depth or is_compiling() or get_ident() != modules._main:
                return original(self, *args, **kwargs)
            return modules._outermost(original.__get__(self), self, args, kwargs)

        @functools.wraps(original)
        def outermost_in_place(self: Any, *args: Any, **kwargs: Any) -> Any:
            # Nearly all calls are made by other modules. For them this does itself what PyTorch's function does, so that
            # a job with thousands of small modules does not pay for a second function around each.
            call = self._call_impl if self._compiled_call_impl is None else self._compiled_call_impl
            if activity.depth or is_compiling() or get_ident() != modules._main:
                return call(*args, **kwargs)
            return modules._outermost(call, self, args, kwargs)

        outermost = outermost_in_place if _is_as_known(original) else outermost_alone
        base.__call__ = __call__ if self._notes_calls else outermost

    def _outermost(self, call: Callable[..., Any], module: Any, args: Any, kwargs: Any) -> Any:
        """A call that no other module makes: what people call a batch."""
        is_evaluation = not module.training
        if self.before_call is not None:
            self.before_call(module, args, kwargs)
        self.activity.depth = 1
        root = self._roots.get(id(module))
        if root is None or root() is not module:
            self._meet(module)
        if is_evaluation:
            self.recorder.mark("evaluation", "START")
        if self._notes_calls:
            self._enter(module)
        try:
            return call(*args, **kwargs)
        finally:
            self.activity.depth = 0
            self.activity.calls += 1
            self.activity.training_calls += not is_evaluation and self._records_graphs()
            if self._notes_calls:
                self._note(RETURN)
            if is_evaluation:
                self.recorder.mark("evaluation", "END")
            if self.on_call is not None:
                self.on_call()

    def _meet(self, root: Any) -> None:
        """The script calls a module that it did not call before."""
        if len(self._roots) >= ROOTS_MAX:
            self._roots.clear()
        self._roots[id(root)] = weakref.ref(root)
        if root not in self._numbers:
            self.know(root)

    def _enter(self, module: Any) -> None:
        number = self._numbers.get(module)
        if number is None:
            number = self._numbers[module] = self._number(type(module).__name__, "", module)
        self._note(number)

    def _note(self, number: int) -> None:
        if self.recorder.recording:
            self.on_note()
            self._calls += (now_us(), number)
            if len(self._calls) >= BATCH:
                self.flush()

    def flush(self) -> None:
        """Writes down the calls so far."""
        if self._calls:
            self.stream.write("calls", self._calls)
            self._calls = []

    def know(self, root: Any) -> None:
        """Gives every module below a model its path, and remembers whose each parameter is."""
        label = type(root).__name__
        for path, module in root.named_modules():
            number = self._number(label, path, module)
            self._numbers.setdefault(module, number)
            for part in (module._parameters, module._buffers):
                for tensor in part.values():
                    if tensor is not None:
                        self._owners.setdefault(id(tensor), (_reference(tensor), self._numbers[module]))

    def of_parameter(self, parameter: Any) -> int | None:
        """The number of the module that a parameter belongs to, if that is known."""
        reference, number = self._owners.get(id(parameter), (None, None))
        return number if reference is not None and reference() is parameter else None

    def _number(self, label: str, path: str, module: Any) -> int:
        number = self._paths.get((label, path))
        is_new = number is None
        if number is None:
            number = self._paths[label, path] = len(self._paths)
        if not self._notes_calls:
            # Another model of the same class has the same numbers, and lies elsewhere.
            self.stream.write("module", number, label, path, id(module))
        elif is_new:
            self.stream.write("module", number, label, path)
        return number


def _is_as_known(call: Any) -> bool:
    """Whether PyTorch's function does no more than to choose between a compiled call and the usual one."""
    code = getattr(call, "__code__", None)
    return code is not None and code.co_names == ("_compiled_call_impl", "_call_impl") and code.co_argcount == 1


def _reference(tensor: Any) -> Any:
    """Does not keep the tensor alive; subclasses that cannot be referred to are not known again."""
    try:
        return weakref.ref(tensor)
    except TypeError:
        return lambda: None
