"""Models whose parameters are divided over processes, block by block."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from types import ModuleType
from typing import Any

from .. import models
from . import saving
from .ranks import NotForSeveralCards


@dataclass(frozen=True)
class Options:
    """How a model is divided."""

    #: Whether blocks give their whole parameters back after the forward pass, and gather them again in the backward.
    reshard: bool
    #: Whether parameters, gradients and optimizer state lie on the host, and parameters visit the card by block.
    cpu_offload: bool


def shard(torch: ModuleType, root: Any, mesh: Any, options: Options) -> dict[int, Any]:
    """Divides a model; returns its new parameters by the identity of the old ones.

    The first process's values are taken, so that models that were drawn without a seed are the same everywhere.
    """
    from torch.distributed.fsdp import CPUOffloadPolicy, OffloadPolicy, fully_shard

    why = _why_not(root)
    if why:
        raise NotForSeveralCards(f"oomph: fsdp: {why}")
    for tensor in (*root.parameters(), *root.buffers()):
        torch.distributed.broadcast(tensor.detach(), src=0)
    before = {path: parameter for path, parameter in root.named_parameters(remove_duplicate=False)}
    has_card = mesh.device_type != "cpu"
    policy = CPUOffloadPolicy(pin_memory=has_card) if options.cpu_offload else OffloadPolicy()
    for block in blocks_of(root).values():
        fully_shard(block, mesh=mesh, reshard_after_forward=options.reshard, offload_policy=policy)
    fully_shard(root, mesh=mesh, offload_policy=policy)
    after = dict(root.named_parameters(remove_duplicate=False))
    saving.whole_in_state_dicts(root)
    for path, parameter in before.items():
        # Whoever still has the old one, in a list say, must neither keep its memory nor believe in its values.
        if parameter is not after[path]:
            parameter.data = parameter.data.new_empty(0)
    return {id(parameter): after[path] for path, parameter in before.items()}


def blocks_of(root: Any) -> dict[str, Any]:
    """The repeated blocks that share no parameter with the rest of the model: each is gathered by itself."""
    holders: dict[int, set[str]] = {}
    for path, module in root.named_modules(remove_duplicate=False):
        for parameter in module._parameters.values():
            if parameter is not None:
                holders.setdefault(id(parameter), set()).add(path)
    return {
        path: block
        for path, block in models.repeated_blocks(root).items()
        if all(f"{holder}.".startswith(f"{path}.") for p in block.parameters() for holder in holders[id(p)])
    }


def _why_not(root: Any) -> str | None:
    name = type(root).__name__
    for path, parameter in root.named_parameters():
        if parameter.dim() == 0:
            return f"{name}.{path} has no dimensions, and PyTorch's FSDP divides parameters along their first one."
    if len({parameter.device for parameter in root.parameters()}) > 1:
        return f"The parameters of {name} are on several devices already."
    return None


class Parameters:
    """Which parameter has taken the place of which."""

    def __init__(self) -> None:
        self._new: dict[int, Any] = {}
        #: The old ones stay alive, empty, so that nothing else gets their identity.
        self._old: list[Any] = []

    def remember(self, old: Iterable[Any], new: dict[int, Any]) -> None:
        """A model has been divided."""
        self._old += list(old)
        self._new.update(new)

    def current(self, parameter: Any) -> Any:
        """The parameter itself, or what has taken its place."""
        return self._new.get(id(parameter), parameter)

    def current_groups(self, groups: list[Any]) -> list[Any]:
        """What an optimizer is given: parameters, names with parameters, or groups of either."""
        return [self._current_entry(entry) for entry in groups]

    def _current_entry(self, entry: Any) -> Any:
        if isinstance(entry, Mapping):
            return {**entry, "params": self.current_groups(entry["params"])}
        if isinstance(entry, tuple):
            return (*entry[:-1], self.current(entry[-1]))
        return self.current(entry)
