"""One optimizer whose steps the backward pass takes: what it must see first, and when it stands aside."""

from __future__ import annotations

import weakref
from collections.abc import Callable
from enum import Enum
from types import ModuleType
from typing import Any

from . import gradients, steps

#: Not what the step computes, but how.
_NOT_OPTIONS = ("params", "param_names", "foreach", "fused")
_ADVICE = "Leave out step_in_backward for this script."


def why_not(torch: ModuleType, optimizer: Any, own_hooks: int) -> str | None:
    """Why the backward pass cannot take the steps of this optimizer, whatever the script does."""
    parameters = steps.parameters_of(optimizer)
    distributed = torch.distributed
    if distributed.is_available() and distributed.is_initialized() and distributed.get_world_size() > 1:
        return "The gradients of several processes are summed up after the backward pass has made them."
    if any(type(parameter) is not torch.nn.Parameter for parameter in parameters):
        return f"{type(optimizer).__name__} steps tensors that are not plain parameters."
    if any(len(getattr(parameter, "_post_accumulate_grad_hooks", None) or ()) > own_hooks for parameter in parameters):
        return "The script itself does something with each gradient as soon as it is complete."
    return steps.why_not_in_parts(torch, optimizer)


class _Phase(Enum):
    WATCHING = 1
    STEPPING = 2
    ASIDE = 3


class Stepping:
    """One optimizer whose steps the backward pass takes, or might."""

    def __init__(
        self,
        torch: ModuleType,
        optimizer: Any,
        watch_steps: int,
        layer: steps.Layer,
        refuse: Callable[[str], None],
        applied: Callable[..., None],
    ) -> None:
        self._torch = torch
        self._optimizer = weakref.ref(optimizer)
        self._kind = type(optimizer).__name__
        self._watches = watch_steps > 0
        self._to_watch = watch_steps
        self._layer = layer
        self._refuse = refuse
        self._applied = applied
        self._phase = _Phase.WATCHING
        self._hooks: dict[int, Any] = {}
        self._armed = False
        #: How often each parameter's gradient grew since the last step.
        self._grown: dict[int, int] = {}
        #: Parameters that the backward pass has stepped, until somebody clears gradients.
        self._freed: set[int] = set()
        self._stepped: set[int] = set()
        self._parts: steps.Parts | None = None
        self._options: list[Any] = []
        gradients.listen(torch, self)
        self._hook(optimizer)

    def is_alive(self) -> bool:
        """Whether the optimizer is still there."""
        return self._optimizer() is not None

    def watch_longer(self) -> None:
        """There is another optimizer: what happens between two steps matters too."""
        if self._phase is _Phase.STEPPING and not self._stepped:
            self._phase = _Phase.WATCHING
        if self._phase is _Phase.WATCHING and self._watches:
            self._to_watch = max(self._to_watch, 2)

    def before_backward(self, retain_graph: bool, create_graph: bool) -> None:
        """Decides whether this backward pass steps."""
        optimizer = self._optimizer()
        if not self._stepped:
            self._freed.clear()
        if optimizer is None or self._phase is _Phase.ASIDE:
            return
        if self._phase is _Phase.WATCHING and self._to_watch <= 0:
            # Not sooner: the optimizer's own class may not have been done with it.
            self._begin(optimizer)
        again = retain_graph or create_graph
        if self._phase is _Phase.WATCHING:
            if again:
                self._stand_aside("The script keeps the graph of a backward pass for another one.")
            return
        if not self._stepped and any(parameter.grad is not None for parameter in steps.parameters_of(optimizer)):
            self._stand_aside("The script starts a backward pass without setting the gradients of before to None.")
        self._armed = self._phase is _Phase.STEPPING and not again

    def _grew(self, parameter: Any) -> None:
        """A gradient is complete, as far as this backward pass goes."""
        optimizer, key = self._optimizer(), id(parameter)
        if optimizer is None or self._phase is _Phase.ASIDE:
            return
        if key in self._stepped:
            raise RuntimeError(
                f"oomph: step_in_backward has stepped a parameter of {self._kind}, and a second backward pass comes "
                f"before {self._kind}.step(). {_ADVICE}"
            )
        if not self._grown and not self._stepped:
            self._options = _options(optimizer)
        self._grown[key] = self._grown.get(key, 0) + 1
        if self._phase is _Phase.STEPPING and self._armed:
            if self._parts is None:
                self._parts = steps.Parts(steps.step_below(self._layer, optimizer), optimizer)
            self._parts.take([parameter])
            parameter.grad = None
            self._stepped.add(key)
            self._freed.add(key)

    def read(self, parameter: Any, value: Any) -> None:
        """The script looks at a gradient."""
        if value is not None and self._phase is not _Phase.ASIDE and not self._stepped:
            self._stand_aside(
                "The script reads gradients between the backward pass and the step, to clip, scale or log them."
            )
        elif value is None and id(parameter) in self._freed:
            raise RuntimeError(
                "oomph: step_in_backward has stepped this parameter and freed the gradient that is asked for. "
                f"{_ADVICE}"
            )

    def cleared(self, parameter: Any) -> None:
        """`zero_grad` came by."""
        self._freed.discard(id(parameter))

    def step(self, below: steps.Step, optimizer: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """The script's own call of `step`: all that is left to do, and the end of this step."""
        if self._phase is not _Phase.ASIDE and steps.closure_of(args, kwargs) is not None:
            self._stand_aside(f"The script gives {self._kind}.step a function that runs the backward pass.")
        if self._phase is _Phase.WATCHING:
            self._judge(optimizer)
        if not self._stepped:
            self._end()
            return below(optimizer, *args, **kwargs)
        if _options(optimizer) != self._options:
            raise RuntimeError(
                f"oomph: options of {self._kind} (its learning rate, say) were changed between the backward pass, "
                f"which stepped already, and {self._kind}.step(). {_ADVICE}"
            )
        left = [parameter for parameter in steps.parameters_of(optimizer) if parameter.grad is not None]
        if left and self._parts is not None:
            self._parts.take(left)
        self._end()
        return None

    def _end(self) -> None:
        self._grown, self._stepped, self._parts = {}, set(), None

    def _judge(self, optimizer: Any) -> None:
        """A whole step has been watched."""
        if not self._grown:
            return
        if max(self._grown.values()) > 1:
            self._stand_aside("There are several backward passes to a step.")
        elif _options(optimizer) != self._options:
            self._stand_aside(f"The script changes options of {self._kind} between the backward pass and the step.")
        else:
            self._to_watch -= 1
            if self._to_watch <= 0:
                self._begin(optimizer)

    def _begin(self, optimizer: Any) -> None:
        why = why_not(self._torch, optimizer, own_hooks=1)
        if why:
            self._stand_aside(why)
            return
        self._phase = _Phase.STEPPING
        parameters = [parameter for parameter in steps.parameters_of(optimizer) if id(parameter) in self._hooks]
        gradient_bytes = sum(parameter.numel() * parameter.element_size() for parameter in parameters)
        self._applied(optimizer=self._kind, parameters=len(parameters), gradient_bytes=gradient_bytes)

    def _hook(self, optimizer: Any) -> None:
        for parameter in steps.parameters_of(optimizer):
            other = gradients.listener_of(parameter)
            if other is not None and other.is_alive():
                for one in (other, self):
                    one._stand_aside("Several optimizers step the same parameter.")
                return
            if parameter.requires_grad and parameter.is_leaf:
                self._hooks[id(parameter)] = parameter.register_post_accumulate_grad_hook(self._grew)
                gradients.listen_to_reads(parameter, self)

    def _stand_aside(self, why: str) -> None:
        """From here on the script is as it was."""
        self._phase = _Phase.ASIDE
        self._armed = False
        for hook in self._hooks.values():
            hook.remove()
        self._hooks = {}
        self._refuse(why)


def _options(optimizer: Any) -> list[Any]:
    """What the script can set on an optimizer, in a form that compares; counts change by themselves."""
    return [
        (name, (id(value), value._version) if hasattr(value, "_version") else repr(value))
        for group in optimizer.param_groups
        for name, value in group.items()
        if name not in _NOT_OPTIONS and type(value) is not int
    ]
