"""One call of a block ahead of its first real one, to learn what it keeps for the backward pass and what it changes.

A block that changes something when it is called (a counter, a cache among its arguments, a tensor in place) must not be
called twice, so it cannot be recomputed. Everything the trial changed is put back.
"""

from __future__ import annotations

import contextlib
from collections import deque
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from types import ModuleType
from typing import Any

from . import models, recomputing

#: How deep objects that the block or its arguments refer to are looked into: a cache, its layers, their tensors.
DEPTH = 5
#: How many objects are looked into: a block may refer to the whole of a program.
LOOKED_AT = 10_000
#: What `torch.nn.Module` keeps among the attributes for itself.
_KEPT_BY_MODULES = frozenset(
    """training _parameters _buffers _non_persistent_buffers_set _backward_pre_hooks _backward_hooks
    _is_full_backward_hook _forward_hooks _forward_hooks_with_kwargs _forward_hooks_always_called _forward_pre_hooks
    _forward_pre_hooks_with_kwargs _state_dict_hooks _state_dict_pre_hooks _load_state_dict_pre_hooks
    _load_state_dict_post_hooks _modules""".split()
)


@dataclass(frozen=True)
class Trial:
    """What one call of a block showed."""

    #: What is kept for the backward pass, without parameters and inputs: what recomputation saves.
    saved_bytes: int
    #: What the call changes, in words; None if nothing.
    changes: str | None
    #: Whether it draws random numbers from PyTorch.
    draws: bool
    #: What it returned.
    output: Any
    #: What the other call returned, where there was one.
    settled_output: Any = None


#: The arguments of a call, and those by name.
Arguments = tuple[tuple[Any, ...], dict[str, Any]]


def attempt(
    block: Any,
    call: Callable[..., Any],
    args: tuple[Any, ...],
    kwargs: dict[str, Any],
    with_graph: bool = True,
    settled_by: Arguments | None = None,
) -> Trial:
    """Calls a block, and leaves everything as if it had not been called. Without a graph, nothing is kept meanwhile.

    What only the first call changes, such as a mask that is made once, does not count if `settled_by` is given: the
    arguments of another call, which then finds what it needs.
    """
    import torch

    copies: tuple[Any, Any] = _copied(args), _copied(kwargs)
    before = _State(block, copies)
    states = recomputing.random_states()
    devices = sorted({tensor.device.index for tensor in models.tensors_in((args, kwargs)) if tensor.is_cuda})
    saved: dict[int, Any] = {}
    settled: tuple[str | None, Any] = (None, None)

    def pack(tensor: Any) -> None:
        # The graph gets nothing: no backward pass follows, and an output that its own graph holds is never let go.
        storage = tensor.untyped_storage()
        saved[storage.data_ptr()] = storage

    try:
        with (
            torch.random.fork_rng(devices),
            torch.autograd.graph.saved_tensors_hooks(pack, lambda nothing: nothing),
            torch.set_grad_enabled(with_graph),
            _no_autocast_cache(),
        ):
            drawn_before = _drawn(devices)
            output = call(*copies[0], **copies[1])
            draws = _drawn(devices) != drawn_before
            if settled_by is not None:
                settled = _settled(block, call, *settled_by)
    finally:
        changes = before.put_back()
        recomputing.set_random_states(states)
    if settled_by is not None:
        changes = changes and settled[0]
    known = [*block.parameters(), *block.buffers(), *models.tensors_in((copies, output))]
    for tensor in known:
        if type(tensor) in (torch.Tensor, torch.nn.Parameter):
            saved.pop(tensor.untyped_storage().data_ptr(), None)
    return Trial(sum(storage.nbytes() for storage in saved.values()), changes, draws, output, settled[1])


def _settled(
    block: Any, call: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]
) -> tuple[str | None, Any]:
    """What one call changes, in words, and what it returned."""
    copies: tuple[Any, Any] = _copied(args), _copied(kwargs)
    before = _State(block, copies)
    try:
        output = call(*copies[0], **copies[1])
    finally:
        changes = before.put_back()
    return changes, output


@contextlib.contextmanager
def _no_autocast_cache() -> Iterator[None]:
    """Weights that are cast without a graph must not be found in autocast's cache by the real call."""
    import torch

    before = torch.is_autocast_cache_enabled()
    torch.set_autocast_cache_enabled(False)
    try:
        yield
    finally:
        torch.set_autocast_cache_enabled(before)


def _drawn(devices: list[int]) -> list[list[int]]:
    """Where PyTorch's random numbers are."""
    import torch

    return [torch.get_rng_state().tolist(), *(torch.cuda.get_rng_state(device).tolist() for device in devices)]


def _copied(value: Any) -> Any:
    """A tensor to be changed in place at will, part of no graph of the script's."""
    import torch

    if isinstance(value, torch.Tensor):
        # Not a leaf, which could not be changed in place.
        return value.detach().requires_grad_(value.requires_grad).clone()
    if type(value) in (list, tuple):
        return type(value)(_copied(part) for part in value)
    if type(value) is dict:
        return {key: _copied(part) for key, part in value.items()}
    return value


class _State:
    """The state of a block and of what its arguments hold."""

    def __init__(self, block: Any, arguments: Any) -> None:
        #: Each tensor with its version and a copy of what is in it; arguments are copies already.
        self._tensors: dict[int, tuple[str, Any, int, Any]] = {}
        #: Each dictionary, list or set with a copy of it.
        self._containers: dict[int, tuple[str, Any, Any]] = {}
        self._passed = {id(tensor) for tensor in models.tensors_in(arguments)}
        self._counted = set()
        for norm in recomputing.running_statistics(block.modules()):
            self._counted |= {id(buffer) for buffer in norm._buffers.values()}
        for path, module in block.named_modules():
            place = f"its part `{path}`" if path else "the block itself"
            self._see(module._buffers, f"a buffer of {place}", DEPTH)
            own = {name: value for name, value in vars(module).items() if name not in _KEPT_BY_MODULES}
            self._containers[id(vars(module))] = (f"an attribute of {place}", vars(module), own)
            self._see(own, f"an attribute of {place}", DEPTH)
        self._see(arguments, "one of its arguments", DEPTH + 1)

    def _see(self, value: Any, place: str, depth: int) -> None:
        import torch

        if isinstance(value, torch.nn.Parameter):
            return
        if isinstance(value, torch.Tensor):
            if id(value) not in self._tensors:
                copy = None if id(value) in self._passed else value.detach().clone()
                self._tensors[id(value)] = (place, value, _version(value), copy)
            return
        container = _container(value)
        if container is None or not depth or id(container) in self._containers or len(self._containers) > LOOKED_AT:
            return
        self._containers[id(container)] = (place, container, container.copy())
        for part in list(container.values() if isinstance(container, dict) else container):
            self._see(part, place, depth - 1)

    def put_back(self) -> str | None:
        """Undoes what has changed since; says what it was."""
        changed = []
        for place, tensor, version, copy in self._tensors.values():
            is_statistic = id(tensor) in self._counted
            if _version(tensor) != version and not is_statistic:
                changed.append(place)
            if copy is not None and (is_statistic or _version(tensor) != version):
                # Not through autograd: as far as the script is concerned, nothing has been changed.
                tensor.data.copy_(copy)
        for place, container, copy in self._containers.values():
            if _differs(container, copy):
                changed.append(place)
                _restore(container, copy)
        return changed[0] if changed else None


def _version(tensor: Any) -> int:
    return -1 if tensor.is_inference() else int(tensor._version)


def _container(value: Any) -> Any:
    """What holds the parts of a value: itself, or the dictionary of its attributes."""
    import torch

    if isinstance(value, (dict, list, set, deque)):
        return value
    if isinstance(value, (torch.nn.Module, type, ModuleType)) or callable(value):
        return None
    own = getattr(value, "__dict__", None)
    return own if isinstance(own, dict) else list(value) if isinstance(value, tuple) else None


def _differs(container: Any, copy: Any) -> bool:
    if isinstance(container, set):
        return len(container) != len(copy)
    if isinstance(container, dict):
        if any(name not in container for name in copy):
            return True
        # A dictionary of a module's attributes has more in it than was copied.
        added = [name for name in container if name not in copy and name not in _KEPT_BY_MODULES]
        return bool(added) or any(not _same(container[name], value) for name, value in copy.items())
    return len(container) != len(copy) or any(not _same(one, other) for one, other in zip(container, copy))


def _same(one: Any, other: Any) -> bool:
    return one is other or (type(one) is type(other) and isinstance(one, (int, float, str, bytes)) and one == other)


def _restore(container: Any, copy: Any) -> None:
    if isinstance(container, dict):
        for name in [name for name in container if name not in copy and name not in _KEPT_BY_MODULES]:
            del container[name]
    else:
        container.clear()
    container.extend(copy) if isinstance(container, (list, deque)) else container.update(copy)
