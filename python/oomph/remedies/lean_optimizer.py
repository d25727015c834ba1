"""Optimizer steps without the long lists of intermediate tensors that torch's default (`foreach`) makes."""

from __future__ import annotations

import importlib
from types import ModuleType
from typing import Any

from .desk import Desk

HOW = ("fused", "single")


def lean_optimizer(optimizer: Any, how: str = "fused") -> list[str]:
    """Lets an optimizer take its steps in one kernel (`fused`), or one parameter after the other (`single`).

    Groups for which `foreach` or `fused` was chosen already stay as they are. Where there is no fused kernel, the step
    goes one parameter after the other. Returns what each group does from now on: `fused`, `single`, or `as it was`.
    """
    import torch

    if how not in HOW:
        raise ValueError(f"how must be one of {HOW}, not {how!r}")
    return [_choose(torch, optimizer, group, how) for group in optimizer.param_groups]


def install(torch: ModuleType, desk: Desk, how: str = "fused") -> None:
    """Does the same with every optimizer there will be, right before its step: its parameters are on the card then."""
    if how not in HOW:
        raise ValueError(f"how must be one of {HOW}, not {how!r}")

    def before_step(optimizer: Any, _args: Any, _kwargs: Any) -> None:
        if torch.compiler.is_compiling():
            return
        kind = type(optimizer).__name__
        groups = [group for group in optimizer.param_groups if _is_open(group)]
        chosen = {_choose(torch, optimizer, group, how) for group in groups}
        for one in chosen - {"as it was"}:
            desk.applied(optimizer=kind, how=one)
        if not any(_is_taken(group) for group in optimizer.param_groups):
            desk.refuse(_why_not(optimizer, kind))

    importlib.import_module("torch.optim.optimizer").register_optimizer_step_pre_hook(before_step)


def _choose(torch: ModuleType, optimizer: Any, group: dict[str, Any], how: str) -> str:
    if not _is_open(group):
        return "as it was"
    if how == "fused" and _has_fused_kernel(torch, optimizer, group):
        group["fused"] = True
        _counts_to_cards(torch, optimizer, group)
        return "fused"
    group["foreach"] = False
    return "single"


def _is_open(group: dict[str, Any]) -> bool:
    """Whether nobody has chosen yet, and nothing needs the default."""
    return (
        "foreach" in group
        and group["foreach"] is None
        and group.get("fused") is None
        and not group.get("capturable")
        and not group.get("differentiable")
    )


def _is_taken(group: dict[str, Any]) -> bool:
    return bool(group.get("fused")) or group.get("foreach") is False


def _why_not(optimizer: Any, kind: str) -> str:
    group = optimizer.param_groups[0]
    if "foreach" not in group:
        return f"{kind} has no other way to take its step."
    if group.get("capturable") or group.get("differentiable"):
        return f"{kind} was made capturable or differentiable, which needs its step as it is."
    return f"The script has chosen itself how {kind} takes its step."


def _has_fused_kernel(torch: ModuleType, optimizer: Any, group: dict[str, Any]) -> bool:
    """Not every optimizer that has the option has a kernel for every device."""
    if "fused" not in group:
        return False
    only_on_cpu = isinstance(optimizer, torch.optim.Adagrad)
    return all(
        parameter.is_floating_point()
        and parameter.device.type == "cuda"
        and not only_on_cpu
        and not (parameter.grad is not None and parameter.grad.is_sparse)
        for parameter in group["params"]
    )


def _counts_to_cards(torch: ModuleType, optimizer: Any, group: dict[str, Any]) -> None:
    """A fused kernel reads its step counts on the card; a checkpoint of before has them on the host."""
    for parameter in group["params"]:
        state = optimizer.state.get(parameter)
        if state and torch.is_tensor(state.get("step")):
            state["step"] = state["step"].to(device=parameter.device, dtype=torch.float32)
