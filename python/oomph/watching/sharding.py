"""What blocks are for where parameters do not stay as they were made: models that are moved, cut up and put together.

The optimizer holds the pieces in the end. The whole model that was on the card before it was cut up, and the whole
layers that FSDP puts together for a moment, are in no optimizer: they are told here.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable
from types import ModuleType
from typing import Any

from . import imports
from .recorder import now_us
from .sinks import Recording

#: Where FSDP's second version puts layers together; older versions of torch have none of it.
_FSDP = "torch.distributed.fsdp._fully_shard"


class Sharding:
    """Says what is a parameter or a gradient although no optimizer has it."""

    def __init__(self, recorder: Recording, is_wanted: Callable[[], bool]) -> None:
        self.recorder = recorder
        #: Whether there is time for it in this step.
        self._is_wanted = is_wanted
        self._is_moving = False

    def install(self, torch: ModuleType, guard: Callable[[Any], Any]) -> None:
        """Looks at parameters when they come and when they are moved. What others call is given to `guard` first."""
        torch.nn.modules.module.register_module_parameter_registration_hook(guard(self._on_registered))
        self._watch_moving(torch.nn.Module, guard(self._on_moved))
        tell = {kind: guard(functools.partial(self.tell, kind)) for kind in ("parameter", "gradient")}
        imports.after_import(f"{_FSDP}._fsdp_param", lambda module: _watch_parameters(module, tell["parameter"]))
        imports.after_import(f"{_FSDP}._fsdp_param_group", lambda module: _watch_groups(module, tell))

    def tell(self, kind: str, tensors: Iterable[Any]) -> None:
        """Says what tensors are for."""
        if not self.recorder.recording or not self._is_wanted():
            return
        began, time_us = self.recorder.tagging(), now_us()
        for tensor in tensors:
            self.recorder.tag(tensor, kind, time_us)
        self.recorder.tagged(began)

    def _on_registered(self, _module: Any, _name: str, parameter: Any) -> None:
        if parameter is not None:
            self.tell("parameter", (parameter,))

    def _on_moved(self, module: Any) -> None:
        self.tell("parameter", module.parameters())
        self.tell("buffer", module.buffers())

    def _watch_moving(self, base: Any, after: Callable[[Any], None]) -> None:
        """`cuda()`, `to()`, `half()` and their like all end in one function, which calls itself for modules below."""
        original = base._apply

        @functools.wraps(original)
        def _apply(module: Any, *args: Any, **kwargs: Any) -> Any:
            if self._is_moving:
                return original(module, *args, **kwargs)
            self._is_moving = True
            try:
                result = original(module, *args, **kwargs)
            finally:
                self._is_moving = False
            after(module)
            return result

        base._apply = _apply


def _watch_parameters(module: ModuleType, tell: Callable[[Iterable[Any]], None]) -> None:
    """Each time a layer is put together its parameters get memory again."""
    base = module.FSDPParam
    for name in ("init_unsharded_param", "alloc_all_gather_outputs"):
        original = getattr(base, name, None)
        if original is not None:
            setattr(base, name, _followed(original, lambda parameter: tell(_whole(parameter))))


def _whole(parameter: Any) -> Iterable[Any]:
    found: Iterable[Any] = getattr(parameter, "all_gather_outputs", ())
    return found


def _followed(original: Callable[..., Any], after: Callable[[Any], None]) -> Callable[..., Any]:
    @functools.wraps(original)
    def method(self: Any, *args: Any, **kwargs: Any) -> Any:
        result = original(self, *args, **kwargs)
        after(self)
        return result

    return method


def _watch_groups(module: ModuleType, tell: dict[str, Callable[[Iterable[Any]], None]]) -> None:
    """What goes to and comes from the other processes lies in blocks of its own."""
    gather, reduce = getattr(module, "foreach_all_gather", None), getattr(module, "foreach_reduce", None)
    if gather is None or reduce is None:
        return

    @functools.wraps(gather)
    def foreach_all_gather(*args: Any, **kwargs: Any) -> Any:
        result = gather(*args, **kwargs)
        output = getattr(result, "all_gather_output", None)
        tell["parameter"](() if output is None else (output,))
        return result

    @functools.wraps(reduce)
    def foreach_reduce(fsdp_params: Any, unsharded_grads: Any, *args: Any, **kwargs: Any) -> Any:
        tell["gradient"](tuple(unsharded_grads))
        result = reduce(fsdp_params, unsharded_grads, *args, **kwargs)
        tell["gradient"](result[:1])
        return result

    module.foreach_all_gather, module.foreach_reduce = foreach_all_gather, foreach_reduce  # type: ignore[attr-defined]
