"""The processes of a job that a launcher (`torchrun`) has started for a script that knows of one."""

from __future__ import annotations

import functools
import os
import random
import sys
from collections.abc import Callable
from types import ModuleType
from typing import Any


class NotForSeveralCards(RuntimeError):
    """Why a script cannot run on several cards this way. Every process raises it, before anything is trained."""


class Ranks:
    """This process among the others."""

    def __init__(self, torch: ModuleType, rank: int, count: int) -> None:
        self._torch = torch
        self.rank = rank
        self.count = count
        #: Whether the other processes are there. On a hollow card they are stand-ins that send nothing.
        self.are_real = "oomph.hollow" not in sys.modules
        self._begin_group: Callable[..., None] = torch.distributed.init_process_group

    def take_own_card(self) -> None:
        """Lets the script see one card alone, so that `cuda`, `cuda:0` and `set_device(0)` all mean this process's."""
        environment = os.environ
        number = int(environment.get("LOCAL_RANK", self.rank))
        named = environment.get("CUDA_VISIBLE_DEVICES")
        visible = [name.strip() for name in named.split(",")] if named is not None else None
        if visible is not None and visible[0] in ("", "-1"):
            return
        if visible is not None and max(number + 1, int(environment.get("LOCAL_WORLD_SIZE", 0))) > len(visible):
            raise NotForSeveralCards(
                f"oomph: fsdp: There are more processes than cards: CUDA_VISIBLE_DEVICES has {len(visible)}."
            )
        environment["CUDA_VISIBLE_DEVICES"] = visible[number] if visible is not None else str(number)
        # Whoever chooses a card by this number finds the only one.
        environment["LOCAL_RANK"] = "0"

    def keep_to_ourselves(self, refuse: Callable[[str], None]) -> None:
        """Stops a script that sets up processes itself, as DDP, FSDP, DeepSpeed, accelerate and Lightning all do."""
        original = self._begin_group
        why = (
            "The script, or a library that it uses, sets up several processes itself: give it the cards through "
            "its own options, and leave fsdp out."
        )

        @functools.wraps(original)
        def init_process_group(*_args: Any, **_kwargs: Any) -> None:
            refuse(why)
            raise NotForSeveralCards(f"oomph: fsdp: {why}")

        for path, module in list(sys.modules.items()):
            if path.startswith("torch.") and getattr(module, "init_process_group", None) is original:
                module.init_process_group = init_process_group  # type: ignore[attr-defined]

    def join(self, device_type: str) -> Any:
        """Meets the others; the mesh of all, for tensors on this type of device."""
        if not self._torch.distributed.is_initialized():
            # Numbers of the host travel beside those of the cards.
            self._begin_group("gloo" if device_type == "cpu" else f"cpu:gloo,{device_type}:nccl")
        return mesh_of_all(device_type)

    def gathered(self, numbers: list[float]) -> list[list[float]]:
        """The numbers of every process."""
        torch = self._torch
        if not self.are_real:
            return [numbers] * self.count
        own = torch.tensor(numbers, dtype=torch.float64)
        found = [torch.empty_like(own) for _ in range(self.count)]
        torch.distributed.all_gather(found, own)
        return [each.tolist() for each in found]

    def summed(self, tensor: Any) -> Any:
        """The sum of what all have; the tensor is written to."""
        if self.are_real:
            self._torch.distributed.all_reduce(tensor)
        return tensor

    def joined_rows(self, tensor: Any, sizes: list[int]) -> Any:
        """The rows of all, one process after the other; those of each have a size that is known."""
        torch = self._torch
        padded = tensor.new_zeros((max(sizes), *tensor.shape[1:]))
        padded[: len(tensor)] = tensor
        found = [torch.empty_like(padded) for _ in sizes]
        torch.distributed.all_gather(found, padded)
        return torch.cat([each[:size] for each, size in zip(found, sizes)])

    def all_objects(self, value: Any) -> list[Any]:
        """What all have, as plain objects."""
        found: list[Any] = [None] * self.count
        self._torch.distributed.all_gather_object(found, value)
        return found

    def draw_alike(self, on_cards_too: bool = False) -> None:
        """From now on all draw the random numbers that the first process would: the same order of samples."""
        torch, cuda = self._torch, self._torch.cuda
        numpy = sys.modules.get("numpy")
        has_card = on_cards_too and cuda.is_initialized()
        states = [
            torch.get_rng_state(),
            random.getstate(),
            numpy.random.get_state() if numpy else None,
            cuda.get_rng_state() if has_card else None,
        ]
        torch.distributed.broadcast_object_list(states, src=0, device=torch.device("cpu"))
        torch.set_rng_state(states[0])
        random.setstate(states[1])
        if numpy and states[2] is not None:
            numpy.random.set_state(states[2])
        if has_card and states[3] is not None:
            cuda.set_rng_state(states[3])

    def draw_apart_on_cards(self) -> None:
        """Rows of a batch that are on different cards get noise of their own, as they would on one."""
        if self.rank and self._torch.cuda.is_initialized():
            self._torch.cuda.manual_seed((self._torch.initial_seed() + self.rank) % 2**63)


def mesh_of_all(device_type: str) -> Any:
    """All processes in a row."""
    import torch
    from torch.distributed.device_mesh import init_device_mesh

    return init_device_mesh(device_type, (torch.distributed.get_world_size(),))
