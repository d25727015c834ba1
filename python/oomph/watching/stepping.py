"""Counts optimizer steps, marks their phases, and says which blocks are weights, gradients and optimizer state."""

from __future__ import annotations

import functools
import gc
import importlib
import weakref
from collections.abc import Callable
from dataclasses import dataclass
from types import ModuleType
from typing import Any

from .activity import Activity
from .modules import Modules
from .recorder import now_us
from .sharding import Sharding
from .sinks import Recording, Telling


@dataclass(frozen=True)
class Limits:
    """After how much a run is over."""

    #: Optimizer steps; 0 for all of them.
    steps: int
    #: Outermost module calls; 0 for all of them.
    batches: int
    #: Ends the run.
    stop: Callable[[], None]


@dataclass(eq=False, slots=True)
class Count:
    """The steps of the job that an optimizer has seen."""

    of: weakref.ref[Any]
    steps: int = 0
    #: One that never steps keeps nobody waiting.
    has_stepped: bool = False


class Steps:
    """The training loop as the optimizers see it."""

    def __init__(
        self,
        activity: Activity,
        recorder: Recording,
        modules: Modules,
        stream: Telling,
        limits: Limits | None = None,
    ) -> None:
        self.wanted = limits.steps if limits else 0
        self.batches_wanted = limits.batches if limits else 0
        self.stop = limits.stop if limits else lambda: None
        #: Called after each step with its number; where there is no optimizer, after each batch.
        self.on_step: Callable[[int], None] = lambda _step: None
        self.activity = activity
        self.recorder = recorder
        self.modules = modules
        self.stream = stream
        self.done = 0
        self.optimizers = 0
        #: By the optimizer's place in memory: dictionaries of weak references take long to look into.
        self._counts: dict[int, Count] = {}
        #: What is counted for the optimizer that took the last step.
        self._leader: Count | None = None
        self._tags = False

    def install(self, torch: ModuleType, guard: Callable[[Any], Any] = lambda function: function) -> None:
        """Hooks into every optimizer there will be. What others call is given to `guard` first."""
        # `torch.optim` hides the module's name behind nothing.
        optimizers = importlib.import_module("torch.optim.optimizer")
        engine = torch.autograd._engine_run_backward
        hooks = self.recorder.hooks(engine, self._on_backward, guard(self._before_step), guard(self._after_step))
        torch.autograd._engine_run_backward, before, after = hooks
        optimizers.register_optimizer_step_pre_hook(before)
        optimizers.register_optimizer_step_post_hook(after)
        self._watch_creation(optimizers.Optimizer, guard(self._after_creation))
        self._watch_loading(optimizers.Optimizer, guard(self._tag_state_alone))
        Sharding(self.recorder, lambda: self._tags or not self.done).install(torch, guard)
        self.modules.on_call = guard(self._after_call)

    def _watch_creation(self, base: Any, after: Callable[[Any], None]) -> None:
        original = base.__init__

        def __init__(self: Any, *args: Any, **kwargs: Any) -> None:
            original(self, *args, **kwargs)
            after(self)

        __init__.__wrapped__ = original  # type: ignore[attr-defined]
        base.__init__ = __init__

    def _after_creation(self, optimizer: Any) -> None:
        self.catch_up()
        # One that is made later goes on where the others are: a job may make a new one for every epoch.
        self._know(optimizer).steps = self.done
        self.optimizers += 1
        self.activity.optimizers += 1
        if not self.batches_wanted:
            # From now on steps are what counts.
            self.modules.on_call = None
        if not self.done:
            self.recorder.count_batch(self.activity.calls)
            self.recorder.mark_step(1)

    def _watch_loading(self, base: Any, after: Callable[[Any], None]) -> None:
        original = base.load_state_dict

        @functools.wraps(original)
        def load_state_dict(optimizer: Any, *args: Any, **kwargs: Any) -> None:
            original(optimizer, *args, **kwargs)
            after(optimizer)

        base.load_state_dict = load_state_dict

    def _on_backward(self) -> None:
        self.activity.backwards += 1

    def _after_call(self) -> None:
        if self.batches_wanted and self.activity.calls >= self.batches_wanted:
            self.stop()
        self.recorder.count_batch(self.activity.calls)
        if not self.optimizers:
            self.stream.stage(f"batch {self.activity.calls}")
            self.on_step(self.activity.calls)

    def catch_up(self) -> None:
        """Counts what the recorder has counted alone."""
        led_steps = self.recorder.led_steps()
        if led_steps and self._leader is not None:
            self.activity.steps += led_steps
            self._leader.steps += led_steps
            self.done = max(self.done, self._leader.steps)

    def _before_step(self, optimizer: Any, _args: Any, _kwargs: Any) -> None:
        self.catch_up()
        if self.wanted and self._known(optimizer).steps >= self.wanted:
            # Some other optimizer of the script steps less often; waiting for it would take for ever.
            self.stop()
        # Decided once a step: its gradients and its state are seen together, or not at all.
        self._tags = self.recorder.wants_tags(self.done + 1)
        if self._tags:
            began = self.recorder.tagging()
            self._tag_gradients(optimizer, now_us())
            self.recorder.tagged(began)
        self.recorder.mark("optimizer", "START")

    def _after_step(self, optimizer: Any, _args: Any, _kwargs: Any) -> None:
        self.catch_up()
        self.recorder.mark("optimizer", "END")
        if self._tags:
            self._tag_state_alone(optimizer)
        self.activity.steps += 1
        count = self._known(optimizer)
        count.steps += 1
        count.has_stepped = True
        if count.steps > self.done:
            self.done = count.steps
            self.recorder.count_batch(self.activity.calls)
            self.recorder.mark_step(self.done + 1)
            self.stream.stage(f"step {self.done + 1}")
            self.on_step(self.done)
        # After a step that was looked at the next one is, too: whether to is decided before each.
        self._follow(count if count.steps == self.done and not self._tags else None)
        if self.wanted and min(count.steps for count in self._counts.values() if count.has_stepped) >= self.wanted:
            self.stop()

    def _follow(self, count: Count | None) -> None:
        """The steps of one optimizer are the job's steps from now on; those of the others are looked at each time."""
        self._leader = count
        optimizer = count.of() if count is not None else None
        self.recorder.lead(id(optimizer) if optimizer is not None else 0, self.done)

    def _known(self, optimizer: Any) -> Count:
        """What is counted for an optimizer; those that were made without their own `__init__` are new here."""
        count = self._counts.get(id(optimizer))
        return count if count is not None and count.of() is optimizer else self._know(optimizer)

    def _know(self, optimizer: Any) -> Count:
        place = id(optimizer)
        count = Count(weakref.ref(optimizer, lambda _: self._forget(place, count)))
        self._counts[place] = count
        return count

    def _forget(self, place: int, count: Count) -> None:
        if self._leader is count:
            self.catch_up()
            self._follow(None)
        # Another one may have taken its place already.
        if self._counts.get(place) is count:
            del self._counts[place]

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

    def _tag_state_alone(self, optimizer: Any) -> None:
        began = self.recorder.tagging()
        self._tag_state(optimizer, now_us())
        self.recorder.tagged(began)

    def _tag_state(self, optimizer: Any, time_us: int) -> None:
        pending = [(self.modules.of_parameter(parameter), state) for parameter, state in optimizer.state.items()]
        while pending:
            module, value = pending.pop()
            if isinstance(value, dict):
                pending.extend((module, part) for part in value.values())
            elif isinstance(value, (list, tuple)):
                pending.extend((module, part) for part in value)
            elif hasattr(type(value), "untyped_storage"):
                self.recorder.tag(value, "optimizer_state", time_us, module)

    def tag_everything(self, torch: ModuleType) -> None:
        """Looks for modules and optimizers that no step has shown: inference, frozen layers, a failure before a step."""
        time_us = now_us()
        began = self.recorder.tagging()
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
        self.recorder.tagged(began)
