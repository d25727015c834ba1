"""Checkpoints of a divided model: whole again, as a script on one card would have written and read them."""

from __future__ import annotations

import functools
import os
import weakref
from collections.abc import Callable
from types import ModuleType
from typing import Any

from ...watching.imports import after_import
from .ranks import Ranks


def whole(value: Any) -> Any:
    """A divided tensor as a whole, on the host: it may not fit a card. Every process must ask for it."""
    from torch.distributed.tensor import DTensor

    return value.detach().full_tensor().cpu() if isinstance(value, DTensor) else value


def divided(value: Any, like: Any) -> Any:
    """This process's part of a whole tensor, divided as `like` is."""
    import torch
    from torch.distributed.tensor import DTensor, distribute_tensor

    is_whole = isinstance(value, torch.Tensor) and not isinstance(value, DTensor) and value.shape == like.shape
    if not is_whole or not isinstance(like, DTensor) or not like.dim():
        return value
    made = distribute_tensor(value.to(like.device_mesh.device_type), like.device_mesh, like.placements)
    # With the parameters on the host, what belongs to them is there too.
    return made.to(like.device)


def whole_in_state_dicts(root: Any) -> None:
    """`state_dict()` of a model and its parts gives whole tensors, and `load_state_dict()` takes them."""
    make_whole = _gathering()
    for module in root.modules():
        module.register_state_dict_post_hook(make_whole)
        module.register_load_state_dict_pre_hook(_divide)


def _gathering() -> Callable[..., None]:
    """Makes the parameters of a module whole in a state dictionary; one with several names in it is gathered once."""
    latest: list[Any] = [lambda: None]
    made: dict[int, Any] = {}

    def make_whole(module: Any, state: Any, prefix: str, _metadata: Any) -> None:
        if latest[0]() is not state:
            made.clear()
            latest[0] = weakref.ref(state, lambda gone: made.clear() if gone is latest[0] else None)
        for name, parameter in module._parameters.items():
            if prefix + name in state:
                if id(parameter) not in made:
                    made[id(parameter)] = whole(state[prefix + name])
                state[prefix + name] = made[id(parameter)]

    return make_whole


def _divide(module: Any, state: Any, prefix: str, *_rest: Any) -> None:
    for name, parameter in module._parameters.items():
        if parameter is not None and prefix + name in state:
            state[prefix + name] = divided(state[prefix + name], parameter)


def whole_in_optimizer(optimizer: Any) -> None:
    """The same for an optimizer."""
    optimizer.register_state_dict_post_hook(_whole_state)
    optimizer.register_load_state_dict_pre_hook(_divided_state)


def _whole_state(_optimizer: Any, dictionary: dict[str, Any]) -> dict[str, Any]:
    state = {
        number: {name: whole(value) for name, value in values.items()} if isinstance(values, dict) else values
        for number, values in dictionary["state"].items()
    }
    return {**dictionary, "state": state}


def _divided_state(optimizer: Any, dictionary: dict[str, Any]) -> dict[str, Any]:
    parameters = [parameter for group in optimizer.param_groups for parameter in group["params"]]
    numbers = [number for group in dictionary["param_groups"] for number in group["params"]]
    state = dict(dictionary["state"])
    for number, parameter in zip(numbers, parameters):
        if isinstance(state.get(number), dict):
            state[number] = {name: divided(value, parameter) for name, value in state[number].items()}
    return {**dictionary, "state": state}


def first_process_writes(torch: ModuleType, ranks: Ranks) -> None:
    """Checkpoints are written once; the others wait until the file is there."""
    torch.save = _by_the_first(torch, ranks, torch.save)
    after_import("safetensors.torch", lambda module: _save_files(torch, ranks, module))


def _save_files(torch: ModuleType, ranks: Ranks, module: Any) -> None:
    module.save_file = _by_the_first(torch, ranks, module.save_file)


def _by_the_first(torch: ModuleType, ranks: Ranks, original: Any) -> Any:
    @functools.wraps(original)
    def save(*args: Any, **kwargs: Any) -> Any:
        # Into a buffer everybody may write: PyTorch itself does so to pickle a tensor.
        is_file = any(isinstance(value, (str, os.PathLike)) for value in (*args, *kwargs.values()))
        if not is_file or not torch.distributed.is_initialized():
            return original(*args, **kwargs)
        try:
            return original(*args, **kwargs) if ranks.rank == 0 else None
        finally:
            torch.distributed.barrier()

    return save
