"""Keeps the optimizer's state in host memory, and brings it to the card a bounded part at a time.

The step itself is the optimizer's own and runs on the card: the numbers are those of the plain script.
"""

from __future__ import annotations

import functools
import weakref
from collections.abc import Callable
from types import ModuleType
from typing import Any

from . import steps
from .desk import Desk
from .host_state import HostState

#: The state that may be on the card at once.
DEVICE_BYTES = 256 << 20

_of_optimizers: weakref.WeakKeyDictionary[Any, _Paging] = weakref.WeakKeyDictionary()


def optimizer_on_host(optimizer: Any, device_bytes: int = DEVICE_BYTES) -> None:
    """Keeps the state of this optimizer on the host, from its first step on.

    Call it right after the optimizer is made, before its schedulers and before `load_state_dict`. `device_bytes` bounds
    the state that is on the card at once; the state of a single parameter may be larger.
    """
    import torch

    why = steps.why_not_in_parts(torch, optimizer)
    if why:
        raise ValueError(f"optimizer_on_host: {why}")
    _watch_loading(torch)
    steps.around_steps_of(torch, optimizer, step_of_any)
    _of_optimizers[optimizer] = _Paging(torch, device_bytes, ("cuda",), _tell_nobody, _tell_nobody)


def install(
    torch: ModuleType, desk: Desk, device_bytes: int = DEVICE_BYTES, device_types: tuple[str, ...] = ("cuda",)
) -> None:
    """Does it to every optimizer there will be. `device_types` are those whose memory is short."""

    def step(below: steps.Step, optimizer: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        if optimizer not in _of_optimizers:
            _of_optimizers[optimizer] = _Paging(torch, device_bytes, tuple(device_types), desk.refuse, desk.applied)
        return step_of_any(below, optimizer, args, kwargs)

    def before_loading(optimizer: Any) -> None:
        _of_optimizers.setdefault(
            optimizer, _Paging(torch, device_bytes, tuple(device_types), desk.refuse, desk.applied)
        )

    _watch_loading(torch, before_loading)
    steps.around_all_steps(torch, step)


def page(torch: ModuleType, optimizer: Any) -> bool:
    """Keeps the state of an optimizer on the host, whose steps somebody else takes with `step_of_any`; not where it is
    there already, nor where its steps cannot be taken in parts."""
    if optimizer in _of_optimizers or steps.why_not_in_parts(torch, optimizer):
        return False
    device_types = tuple({parameter.device.type for parameter in steps.parameters_of(optimizer)})
    _of_optimizers[optimizer] = _Paging(torch, DEVICE_BYTES, device_types, _tell_nobody, _tell_nobody)
    return True


def step_of_any(below: steps.Step, optimizer: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """Takes a step of an optimizer whose state is on the host."""
    return _of_optimizers[optimizer].step(below, optimizer, args, kwargs)


def _tell_nobody(*_args: Any, **_facts: Any) -> None:
    """Done by hand, nobody is told."""


class _Paging:
    """One optimizer whose state is on the host."""

    def __init__(
        self,
        torch: ModuleType,
        device_bytes: int,
        device_types: tuple[str, ...],
        refuse: Callable[[str], None],
        applied: Callable[..., None],
    ) -> None:
        self._torch = torch
        self._device_bytes = device_bytes
        self._refuse = refuse
        self._applied = applied
        self._is_fit: bool | None = None
        self._is_told = False
        self.state = HostState(torch, device_types)
        #: Bytes of state for each byte of parameters, as far as is known: two moments, before the first step.
        self._state_share = 2.0

    def is_fit(self, optimizer: Any) -> bool:
        """Whether this optimizer's steps can be taken in parts: found out once."""
        if self._is_fit is None:
            why = steps.why_not_in_parts(self._torch, optimizer)
            self._is_fit = why is None
            if why:
                self._refuse(why)
        return self._is_fit

    def step(self, below: steps.Step, optimizer: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """Takes one step, part by part."""
        is_concerned = any(self.state.concerns(parameter) for parameter in steps.parameters_of(optimizer))
        if not is_concerned or not self.is_fit(optimizer):
            return below(optimizer, *args, **kwargs)
        closure, result = steps.closure_of(args, kwargs), None
        if closure is not None:
            if not steps.evaluates_first(self._torch, optimizer):
                kind = type(optimizer).__name__
                self._give_up(optimizer, f"{kind} calls the script's closure in the middle of its step.")
                return below(optimizer, *args, **kwargs)
            with self._torch.enable_grad():
                result = closure()
        self._take(steps.Parts(below, optimizer), optimizer)
        if not self._is_told:
            self._is_told = True
            self._applied(optimizer=type(optimizer).__name__, device_bytes=self._device_bytes)
        return result

    def _give_up(self, optimizer: Any, why: str) -> None:
        """From here on the state is where the script wants it: some of it may be on the host."""
        self.state.fetch(optimizer, steps.parameters_of(optimizer))
        self.state.arrive()
        self._is_fit = False
        self._refuse(why)

    def _take(self, parts: steps.Parts, optimizer: Any) -> None:
        """Fetches the state of the next part while a part steps: the card holds two parts at most."""
        waiting = [parameter for parameter in steps.parameters_of(optimizer) if parameter.grad is not None]
        part = self._next_part(optimizer, waiting)
        self.state.fetch(optimizer, part)
        while part:
            self.state.arrive()
            following = self._next_part(optimizer, waiting)
            self.state.fetch(optimizer, following)
            try:
                parts.take(part)
            finally:
                self.state.put_back(optimizer, part)
            self.state.wait()
            part = following

    def _next_part(self, optimizer: Any, waiting: list[Any]) -> list[Any]:
        """As many of those that wait as have room for their state on half of what may be used, and one at least."""
        part: list[Any] = []
        part_bytes = 0.0
        for parameter in waiting:
            state_bytes = self.state.bytes_of(optimizer, parameter)
            own_bytes = parameter.numel() * parameter.element_size()
            if state_bytes is None:
                state_bytes = self._state_share * own_bytes
            elif own_bytes:
                self._state_share = state_bytes / own_bytes
            if part and part_bytes + state_bytes > self._device_bytes / 2:
                break
            part.append(parameter)
            part_bytes += state_bytes
        del waiting[: len(part)]
        return part


def _watch_loading(torch: ModuleType, before: Callable[[Any], None] = _tell_nobody) -> None:
    """A checkpoint's state stays on the host, instead of going to the card all at once."""
    base = torch.optim.Optimizer
    if getattr(base.load_state_dict, "leaves_state_on_host", False):
        return
    original, policy = base.load_state_dict, base._process_value_according_to_param_policy
    loading: list[HostState] = []

    @functools.wraps(original)
    def load_state_dict(optimizer: Any, *args: Any, **kwargs: Any) -> Any:
        before(optimizer)
        paging = _of_optimizers.get(optimizer)
        if paging is None or not paging.is_fit(optimizer):
            return original(optimizer, *args, **kwargs)
        loading.append(paging.state)
        try:
            return original(optimizer, *args, **kwargs)
        finally:
            loading.pop().wait()

    @functools.wraps(policy)
    def stay(param: Any, value: Any, param_id: int, param_groups: list[Any], key: Any = None) -> Any:
        if loading and key != "step" and loading[-1].concerns(param) and value.numel() > 1:
            dtype = param.dtype if param.is_floating_point() else value.dtype
            return loading[-1].to_host(value.to(dtype), param.device.type == "cuda")
        return policy(param, value, param_id, param_groups, key)

    load_state_dict.leaves_state_on_host = True  # type: ignore[attr-defined]
    base.load_state_dict = load_state_dict
    base._process_value_according_to_param_policy = staticmethod(stay)
