"""Stands around the steps of optimizers, and takes them in parts.

A step that is taken in parts is still one step for everybody else: the hooks of torch's optimizers are called once.
"""

from __future__ import annotations

import functools
import inspect
import weakref
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from types import ModuleType
from typing import Any

#: The optimizer's own step, without hooks: called with the optimizer and the arguments of the step.
Step = Callable[..., Any]
#: Runs in place of a step: told the step below, the optimizer, and the arguments of the call.
Layer = Callable[[Step, Any, tuple[Any, ...], dict[str, Any]], Any]

_layers_of_all: list[Layer] = []
_layers_of_one: weakref.WeakKeyDictionary[Any, list[Layer]] = weakref.WeakKeyDictionary()
#: The optimizers that are inside a step right now, with the layers that have been entered.
_entered: dict[int, int] = {}


def around_all_steps(torch: ModuleType, layer: Layer) -> None:
    """Puts a layer around the steps of every optimizer there will be; the latest is the outermost."""
    _hook_classes(torch)
    _layers_of_all.append(layer)


def around_steps_of(torch: ModuleType, optimizer: Any, layer: Layer) -> None:
    """Puts a layer around the steps of one optimizer that exists already."""
    _hook_classes(torch)
    kind = type(optimizer)
    if not getattr(kind.step, "has_layers", False):
        kind.step = torch.optim.Optimizer.profile_hook_step(own_step(optimizer))
        kind.step.hooked = True
    _layers_of_one.setdefault(optimizer, []).append(layer)


def step_below(layer: Layer, optimizer: Any) -> Step:
    """What a layer stands around, to be called while no step runs: as if the layer had called it."""
    raw = own_step(optimizer)
    place = layers_around(optimizer).index(layer)
    return lambda *args, **kwargs: _enter(raw, optimizer, place, args[1:], kwargs)


def own_step(optimizer: Any) -> Step:
    """The step of the optimizer's class as it was written, without hooks and layers."""
    step = type(optimizer).step
    return getattr(step, "own_step", step.__wrapped__ if getattr(step, "hooked", False) else step)


def layers_around(optimizer: Any) -> list[Layer]:
    """The layers of an optimizer's steps, the innermost first."""
    return _layers_of_all + _layers_of_one.get(optimizer, [])


def _hook_classes(torch: ModuleType) -> None:
    """torch hooks the step of each class when its first optimizer is made; the layers go below those hooks."""
    base = torch.optim.Optimizer
    original = base.profile_hook_step
    if getattr(original, "has_layers", False):
        return

    def profile_hook_step(step: Step) -> Step:
        @functools.wraps(step)
        def layered(optimizer: Any, *args: Any, **kwargs: Any) -> Any:
            layers = layers_around(optimizer)
            if not layers or torch.compiler.is_compiling():
                return step(optimizer, *args, **kwargs)
            return _enter(step, optimizer, len(layers), args, kwargs)

        hooked = original(layered)

        @functools.wraps(step)
        def once(optimizer: Any, *args: Any, **kwargs: Any) -> Any:
            # A class that calls the step of its base class: that is a part of the same step.
            chosen = step if id(optimizer) in _entered else hooked
            return chosen(optimizer, *args, **kwargs)

        once.own_step = step  # type: ignore[attr-defined]
        once.has_layers = True  # type: ignore[attr-defined]
        return once

    profile_hook_step.has_layers = True  # type: ignore[attr-defined]
    base.profile_hook_step = staticmethod(profile_hook_step)


def _enter(step: Step, optimizer: Any, place: int, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """Calls the layers below `place`, from the outermost to the step itself."""
    before = _entered.get(id(optimizer))
    _entered[id(optimizer)] = place
    try:
        if place == 0:
            return step(optimizer, *args, **kwargs)
        below = functools.partial(_below, step, place - 1)
        return layers_around(optimizer)[place - 1](below, optimizer, args, kwargs)
    finally:
        if before is None:
            del _entered[id(optimizer)]
        else:
            _entered[id(optimizer)] = before


def _below(step: Step, place: int, optimizer: Any, *args: Any, **kwargs: Any) -> Any:
    return _enter(step, optimizer, place, args, kwargs)


class Parts:
    """One step of an optimizer, taken for some of its parameters at a time.

    What an optimizer counts for all parameters together (`group["step"] += 1`) is the same for every part: each part
    begins with the counts of before the step.
    """

    def __init__(self, step: Step, optimizer: Any) -> None:
        self._step = step
        self._optimizer = optimizer
        self._counts = counts(optimizer)

    def take(self, parameters: Iterable[Any]) -> None:
        """Steps these parameters alone."""
        for place, name, value in self._counts:
            place[name] = value
        with narrowed(self._optimizer, parameters):
            self._step(self._optimizer)


@contextmanager
def narrowed(optimizer: Any, parameters: Iterable[Any]) -> Iterator[None]:
    """An optimizer whose groups hold these parameters alone, for a while."""
    wanted = {id(parameter) for parameter in parameters}
    whole = optimizer.param_groups
    kept: list[tuple[dict[str, Any], Any]] = [(group, group["params"]) for group in whole]
    try:
        for group, members in kept:
            group["params"] = [parameter for parameter in members if id(parameter) in wanted]
        # Some optimizers look at the first parameter of a group.
        optimizer.param_groups = [group for group in whole if group["params"]]
        yield
    finally:
        optimizer.param_groups = whole
        for group, members in kept:
            group["params"] = members


def counts(optimizer: Any) -> list[tuple[dict[str, Any], str, int]]:
    """What an optimizer counts, by its places: those of its groups and its own."""
    return [
        (place, name, value)
        for place in [*optimizer.param_groups, vars(optimizer)]
        for name, value in place.items()
        if type(value) is int
    ]


def parameters_of(optimizer: Any) -> list[Any]:
    """All parameters, in the order of the groups."""
    return [parameter for group in optimizer.param_groups for parameter in group["params"]]


def why_not_in_parts(torch: ModuleType, optimizer: Any) -> str | None:
    """Why a step must not be taken in parts; `None` where it may.

    Nothing is guessed from names: the optimizer takes two steps with small parameters of its own on the CPU, whole and
    in parts. One whose step of a parameter depends on the others (a norm over all of them, say) differs.
    """
    kind = type(optimizer).__name__
    step = own_step(optimizer)
    wanted = list(inspect.signature(step).parameters.values())[1:]
    if any(value.default is value.empty and value.kind < value.VAR_POSITIONAL for value in wanted):
        return f"{kind} evaluates the model inside its step."
    try:
        with torch.random.fork_rng(devices=[]), torch.no_grad():
            whole = _tried(torch, optimizer, step, in_parts=False)
            parts = _tried(torch, optimizer, step, in_parts=True)
    except Exception as error:  # whatever an optimizer of the user's may do with parameters it does not know
        return f"The step of {kind} could not be tried with small parameters ({type(error).__name__})."
    if all(torch.equal(one, other) for one, other in zip(whole, parts)):
        return None
    return f"{kind} makes the step of a parameter depend on other parameters."


def _tried(torch: ModuleType, optimizer: Any, step: Step, in_parts: bool) -> list[Any]:
    """The small parameters after two steps."""
    double, parameters = _small_double(torch, optimizer)
    for _ in range(2):
        for parameter in parameters:
            parameter.grad = 100 * torch.rand_like(parameter)
        if not in_parts:
            _enter(step, double, 0, (), {})
            continue
        parts = Parts(functools.partial(_below, step, 0), double)
        for parameter in parameters:
            parts.take([parameter])
    return parameters


def evaluates_first(torch: ModuleType, optimizer: Any) -> bool:
    """Whether a step calls its closure once, before anything else: then it can as well be called before the step."""
    step = own_step(optimizer)
    seen: list[list[Any]] = []
    try:
        with torch.random.fork_rng(devices=[]), torch.no_grad():
            double, parameters = _small_double(torch, optimizer)
            before = [parameter.clone() for parameter in parameters]

            def closure() -> Any:
                seen.append([parameter.clone() for parameter in parameters])
                for parameter in parameters:
                    parameter.grad = torch.rand_like(parameter)
                return torch.zeros(())

            _enter(step, double, 0, (closure,), {})
    except Exception:  # as above
        return False
    return len(seen) == 1 and all(torch.equal(one, other) for one, other in zip(before, seen[0]))


def _small_double(torch: ModuleType, optimizer: Any) -> tuple[Any, list[Any]]:
    """An optimizer like this one, with small parameters on the CPU and no state."""
    # `torch.manual_seed` would seed the cards too.
    torch.default_generator.manual_seed(0)
    double = object.__new__(type(optimizer))
    double.__dict__.update(optimizer.__dict__)
    double.state = type(optimizer.state)(optimizer.state.default_factory)
    double.param_groups = []
    for group in optimizer.param_groups:
        small = [_small(torch, parameter) for parameter in group["params"][:2]]
        double.param_groups.append({**_plain(torch, group), "params": small})
        for parameter, large in zip(small, group["params"]):
            if optimizer.state.get(large):
                double.state[parameter] = _small_state(torch, optimizer.state[large], large, parameter)
    return double, parameters_of(double)


def _small(torch: ModuleType, parameter: Any) -> Any:
    values = torch.rand([min(size, 4) for size in parameter.shape]).to(parameter.dtype)
    return torch.nn.Parameter(values)


def _small_state(torch: ModuleType, state: dict[str, Any], large: Any, small: Any) -> dict[str, Any]:
    """State like that of a parameter; the values do not matter as long as they are the same for both trials."""
    made: dict[str, Any] = {}
    for name, value in state.items():
        if torch.is_tensor(value):
            if value.dim() and value.shape != large.shape:
                raise ValueError(f"state {name!r} has a shape of its own")
            shape = small.shape if value.dim() else ()
            value = torch.full(shape, 0.5 if value.is_floating_point() else 1).to(value.dtype)
        made[name] = value
    return made


def _plain(torch: ModuleType, group: dict[str, Any]) -> dict[str, Any]:
    """The options of a group, those on a card left out of it."""
    options = {name: value for name, value in group.items() if name != "params"}
    # A card's own step is tried as the CPU's own: what is asked here is the same of both.
    return {name: torch.tensor(1e-3) if torch.is_tensor(value) else value for name, value in options.items()}


def closure_of(args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """The function that evaluates the model anew, if a step was given one."""
    return args[0] if args else kwargs.get("closure")
