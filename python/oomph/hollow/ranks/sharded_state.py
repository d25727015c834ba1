"""State that is gathered from all ranks, of which this one has a part: what is missing is like what is there."""

from __future__ import annotations

import functools
from types import ModuleType
from typing import Any

from ...watching import imports


def install() -> None:
    """Waits for the parts of torch that gather the state of optimizers."""
    imports.after_import("torch.distributed.fsdp._optim_utils", _complete_flat_state)
    imports.after_import("torch.distributed.optim.zero_redundancy_optimizer", _complete_partitions)


def _complete_flat_state(module: ModuleType) -> None:
    """FSDP's first version cuts flat parameters: an optimizer knows those that reach into its rank's part."""
    names, infos = getattr(module, "_map_param_key_to_optim_keys", None), getattr(module, "_allgather_state_info", None)
    if names is None or infos is None:
        return

    @functools.wraps(names)
    def _map_param_key_to_optim_keys(*args: Any, **kwargs: Any) -> Any:
        keys, by_key = names(*args, **kwargs)
        managed = args[4] if len(args) > 4 else kwargs.get("fqn_to_fsdp_param_info", {})
        known = {name for key in keys for name in key.unflat_param_names}
        is_cut = any(len(key.unflat_param_names) == 1 and key.is_fsdp_managed for key in keys)
        missing = [name for name in managed if name not in known] if is_cut else []
        return sorted([*keys, *(module._OptimStateKey((name,), True) for name in missing)]), by_key

    @functools.wraps(infos)
    def _allgather_state_info(fsdp_state: Any, input_states: Any) -> Any:
        gathered = infos(fsdp_state, input_states)
        own = gathered[fsdp_state.rank]
        like = next((info for info in own.values() if info.tensors), None)
        others = {name: info if info.tensors or like is None else like for name, info in own.items()}
        return [own if rank == fsdp_state.rank else others for rank in range(len(gathered))]

    module._map_param_key_to_optim_keys = _map_param_key_to_optim_keys  # type: ignore[attr-defined]
    module._allgather_state_info = _allgather_state_info  # type: ignore[attr-defined]


def _complete_partitions(module: ModuleType) -> None:
    """The optimizer of ZeRO's first stage has whole parameters, of which each rank updates some."""
    base = module.ZeroRedundancyOptimizer

    def consolidate_state_dict(optimizer: Any, to: int = 0) -> None:
        optimizer._sync_param_groups(optimizer.param_groups, optimizer.optim.param_groups)
        optimizer._all_state_dicts = []
        own = optimizer.optim.state_dict()
        like = next(iter(optimizer.optim.state.values()), {})
        for rank, groups in enumerate(optimizer._partition_parameters()):
            told = _partition_like(own, like, groups)
            if rank == optimizer.rank == to:
                told = module._recursive_copy_to_device(own, non_blocking=True, device=module.torch.device("cpu"))
            else:
                # PyTorch sends and receives it through the card.
                size_bytes = sum(value.nbytes for state in told["state"].values() for value in _tensors(state))
                module.torch.empty(size_bytes, dtype=module.torch.uint8, device=optimizer._default_device)
            if optimizer.rank == to:
                optimizer._all_state_dicts.append(told)

    base.consolidate_state_dict = functools.wraps(base.consolidate_state_dict)(consolidate_state_dict)


def _tensors(state: dict[str, Any]) -> list[Any]:
    return [value for value in state.values() if hasattr(value, "nbytes")]


def _partition_like(own: dict[str, Any], like: dict[str, Any], groups: list[dict[str, Any]]) -> dict[str, Any]:
    """The state of another rank's parameters, on the host, as this one's are."""
    state: dict[int, dict[str, Any]] = {}
    told_groups = []
    for settings, group in zip(own["param_groups"], groups, strict=True):
        numbers = list(range(len(state), len(state) + len(group["params"])))
        for number, parameter in zip(numbers, group["params"], strict=True):
            state[number] = {
                name: value.new_zeros(parameter.shape if value.dim() else (), device="cpu")
                if hasattr(value, "new_zeros")
                else value
                for name, value in like.items()
            }
        told_groups.append({**settings, "params": numbers})
    return {"state": state, "param_groups": told_groups}
