"""Counts optimizer steps, marks their phases, and says which blocks are weights, gradients and optimizer state."""

from __future__ import annotations

import functools
import gc
import importlib
import sys
import weakref
from collections.abc import Callable
from types import ModuleType
from typing import Any

from ..settings import Settings
from ..stream import Stream
from .activity import Activity
from .modules import Modules
from .recorder import Recorder, now_us


class Steps:
    """The training loop as the optimizers see it."""

    def __init__(
        self,
        settings: Settings,
        activity: Activity,
        recorder: Recorder,
        modules: Modules,
        stream: Stream,
        stop: Callable[[], None],
    ) -> None:
        self.wanted = settings.steps
        self.batches_wanted = settings.batches
        self.activity = activity
        self.recorder = recorder
        self.modules = modules
        self.stream = stream
        self.stop = stop
        self.done = 0
        self.optimizers = 0
        self._counts: weakref.WeakKeyDictionary[Any, int] = weakref.WeakKeyDictionary()
        self._backwards = 0

    def install(self, torch: ModuleType) -> None:
        """Hooks into every optimizer there will be."""
        # `torch.optim` hides the module's name behind nothing.
        optimizers = importlib.import_module("torch.optim.optimizer")
        optimizers.register_optimizer_step_pre_hook(self._before_step)
        optimizers.register_optimizer_step_post_hook(self._after_step)
        self._watch_creation(optimizers.Optimizer)
        self._watch_loading(optimizers.Optimizer)
        self._watch_backward(torch)
        self.modules.on_call = self._after_call

    def _watch_creation(self, base: Any) -> None:
        original = base.__init__
        steps = self

        def __init__(self: Any, *args: Any, **kwargs: Any) -> None:
            original(self, *args, **kwargs)
            steps.optimizers += 1
            steps.activity.optimizers += 1
            if not steps.done:
                steps.recorder.mark("step 1", "START")

        __init__.__wrapped__ = original  # type: ignore[attr-defined]
        base.__init__ = __init__

    def _watch_loading(self, base: Any) -> None:
        original = base.load_state_dict

        @functools.wraps(original)
        def load_state_dict(optimizer: Any, *args: Any, **kwargs: Any) -> None:
            original(optimizer, *args, **kwargs)
            self._tag_state(optimizer, now_us())

        base.load_state_dict = load_state_dict

    def _watch_backward(self, torch: ModuleType) -> None:
        engine = torch.autograd._engine_run_backward

        def _engine_run_backward(*args: Any, **kwargs: Any) -> Any:
            self._backwards += 1
            outermost = self._backwards == 1
            if outermost:
                self.activity.backwards += 1
                self.recorder.mark_caller(sys._getframe(1))
                self.recorder.mark("backward", "START")
            try:
                return engine(*args, **kwargs)
            finally:
                self._backwards -= 1
                if outermost:
                    self.recorder.mark("backward", "END")

        torch.autograd._engine_run_backward = _engine_run_backward

    def _after_call(self) -> None:
        if self.batches_wanted and self.activity.calls >= self.batches_wanted:
            self.stop()
        if not self.optimizers:
            self.stream.stage(f"batch {self.activity.calls}")

    def _before_step(self, optimizer: Any, _args: Any, _kwargs: Any) -> None:
        if self.wanted and self._counts.get(optimizer, 0) >= self.wanted:
            # Some other optimizer of the script steps less often; waiting for it would take for ever.
            self.stop()
        self._tag_gradients(optimizer, now_us())
        self.recorder.mark("optimizer", "START")

    def _after_step(self, optimizer: Any, _args: Any, _kwargs: Any) -> None:
        self.recorder.mark("optimizer", "END")
        self._tag_state(optimizer, now_us())
        self.activity.steps += 1
        count = self._counts.get(optimizer, 0) + 1
        self._counts[optimizer] = count
        slowest = min(self._counts.values())
        if count > self.done:
            self.done = count
            self.recorder.mark(f"step {count + 1}", "START")
            self.stream.stage(f"step {count + 1}")
        if self.wanted and slowest >= self.wanted:
            self.stop()

    def _tag_gradients(self, optimizer: Any, time_us: int) -> None:
        for group in optimizer.param_groups:
            for parameter in group["params"]:
                self._tag_parameter(parameter, time_us)

    def _tag_parameter(self, parameter: Any, time_us: int) -> None:
        module = self.modules.of_parameter(parameter)
        self.recorder.tag(parameter, "parameter", time_us, module)
        # PyTorch warns whoever asks results of operators for a gradient.
        if parameter.is_leaf and parameter.grad is not None:
            self.recorder.tag(parameter.grad, "gradient", time_us, module)

    def _tag_state(self, optimizer: Any, time_us: int) -> None:
        pending = [(self.modules.of_parameter(parameter), state) for parameter, state in optimizer.state.items()]
        while pending:
            module, value = pending.pop()
            if isinstance(value, dict):
                pending.extend((module, part) for part in value.values())
            elif isinstance(value, (list, tuple)):
                pending.extend((module, part) for part in value)
            elif hasattr(value, "untyped_storage"):
                self.recorder.tag(value, "optimizer_state", time_us, module)

    def tag_everything(self, torch: ModuleType) -> None:
        """Looks for modules and optimizers that no step has shown: inference, frozen layers, a failure before a step."""
        time_us = now_us()
        tag = self.recorder.tag
        for thing in gc.get_objects():
            try:
                kind = type(thing)
                if issubclass(kind, torch.nn.Module):
                    for parameter in thing._parameters.values():
                        if parameter is not None:
                            self._tag_parameter(parameter, time_us)
                    for buffer in thing._buffers.values():
                        if buffer is not None:
                            tag(buffer, "buffer", time_us, self.modules.of_parameter(buffer))
                elif issubclass(kind, torch.optim.Optimizer):
                    self._tag_gradients(thing, time_us)
                    self._tag_state(thing, time_us)
            except (AttributeError, KeyError, TypeError, RuntimeError, ReferenceError):
                # Half-built or half-dead objects of the script.
                continue
