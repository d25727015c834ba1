"""One model over several cards: parameters, gradients and optimizer state divided by FSDP2, and batches by rows.

In a script that knows of one card, started by `torchrun`: `install` gives every process a card of its own, divides each
model when its optimizer is made, and the batches of loops that it understands. By hand: `oomph.fsdp(model)`.
"""

from __future__ import annotations

import functools
import os
import weakref
from types import ModuleType
from typing import Any

from .. import optimized
from ..desk import Desk
from . import saving, sharding
from .batches import DividedLoaders
from .ranks import NotForSeveralCards, Ranks, mesh_of_all
from .sharding import Options


def fsdp(model: Any, reshard: bool = True, cpu_offload: bool = False) -> Any:
    """Divides the parameters of a model over all processes, each of its repeated blocks by itself; returns it.

    Call it in every process, before the optimizer is made, with the process group set up and the model on its card. All
    start from the first process's values. `state_dict()` gives whole tensors on the host, and `load_state_dict()` takes
    them. With `reshard=False` blocks stay whole from the forward to the backward pass: more memory, less traffic. With
    `cpu_offload` parameters, gradients and optimizer state lie on the host.
    """
    import torch

    device_type = next(model.parameters()).device.type
    sharding.shard(torch, model, mesh_of_all(device_type), Options(reshard, cpu_offload))
    return model


def install(torch: ModuleType, desk: Desk, reshard: bool = True, cpu_offload: bool = False) -> None:
    """Puts it into one of several processes that were started for a script that knows of one."""
    environment = os.environ
    if not {"RANK", "WORLD_SIZE"} <= environment.keys():
        desk.refuse("This process was started alone; torchrun starts one for each card.")
        return
    ranks = Ranks(torch, int(environment["RANK"]), int(environment["WORLD_SIZE"]))
    try:
        ranks.take_own_card()
    except NotForSeveralCards as why:
        # Nothing else ends a process from here, and one that went on would train beside the others, not with them.
        raise SystemExit(str(why)) from None
    ranks.keep_to_ourselves(desk.refuse)
    loaders = DividedLoaders(torch, desk, ranks)
    loaders.install()
    divided = _Divided(torch, desk, ranks, loaders, Options(reshard, cpu_offload))
    divided.divide_when_optimizers_are_made()
    divided.clip_what_there_is()
    saving.first_process_writes(torch, ranks)


class _Divided:
    """The models and optimizers of this process."""

    def __init__(
        self, torch: ModuleType, desk: Desk, ranks: Ranks, loaders: DividedLoaders, options: Options
    ) -> None:
        self._torch = torch
        self._desk = desk
        self._ranks = ranks
        self._loaders = loaders
        self._options = options
        self._roots: weakref.WeakSet[Any] = weakref.WeakSet()
        self._parameters = sharding.Parameters()

    def divide_when_optimizers_are_made(self) -> None:
        """An optimizer gets the parameters that are there after its models were divided."""
        base, prepare = self._torch.optim.Optimizer, self._prepare
        original = base.__init__

        @functools.wraps(original)
        def __init__(self: Any, params: Any, *args: Any, **kwargs: Any) -> None:
            original(self, prepare(params), *args, **kwargs)
            saving.whole_in_optimizer(self)

        base.__init__ = __init__

    def clip_what_there_is(self) -> None:
        """Gradients are clipped through lists that may have been made before, and norms are of the whole model."""
        utilities = self._torch.nn.utils
        for name in ("clip_grad_norm_", "clip_grad_value_"):
            clip = self._clipping(getattr(utilities, name))
            setattr(utilities, name, clip)
            setattr(utilities.clip_grad, name, clip)

    def _clipping(self, original: Any) -> Any:
        tensor_class, current = self._torch.Tensor, self._parameters.current

        @functools.wraps(original)
        def clip(parameters: Any, *args: Any, **kwargs: Any) -> Any:
            some = [parameters] if isinstance(parameters, tensor_class) else parameters
            norm = original([current(parameter) for parameter in some], *args, **kwargs)
            return norm.full_tensor() if hasattr(norm, "full_tensor") else norm

        return clip

    def _prepare(self, params: Any) -> Any:
        groups = optimized.as_lists(params)
        tensors = optimized.tensors_of(groups)
        for root in optimized.roots_of(tensors, self._roots):
            self._divide(root)
        return self._parameters.current_groups(groups)

    def _divide(self, root: Any) -> None:
        torch, name = self._torch, type(root).__name__
        old = list(root.parameters())
        device_type = old[0].device.type
        if device_type == "cpu" and torch.cuda.is_available():
            raise NotForSeveralCards(
                f"oomph: fsdp: {name} is still on the host when its optimizer is made: move it to the card before."
            )
        mesh = self._ranks.join(device_type)
        whole_bytes = sum(parameter.numel() * parameter.element_size() for parameter in old)
        self._parameters.remember(old, sharding.shard(torch, root, mesh, self._options))
        self._roots.update(root.modules())
        self._ranks.draw_alike(on_cards_too=True)
        self._loaders.is_training_divided = True
        own = (parameter.to_local() for parameter in root.parameters())
        self._desk.applied(
            model=name,
            processes=self._ranks.count,
            blocks=len(sharding.blocks_of(root)),
            parameter_bytes=whole_bytes,
            own_bytes=sum(part.numel() * part.element_size() for part in own),
        )
