"""Calls the model with a part of the batch at a time, and recomputes each part in the backward pass.

The loss sees the results of the whole batch, so it is exact whatever it does with them: means over tokens, contrastive
terms between samples. Where the loop over batches is understood, micro-batches do the same without recomputing.
"""

from __future__ import annotations

import inspect
from types import ModuleType
from typing import Any

from . import models, recomputing
from .chunking import Telling, Way, divide
from .desk import Desk


def chunk_calls(model: Any, parts: int) -> None:
    """Makes a model compute its batches in so many parts, each recomputed in the backward pass.

    The model is to take and return tensors with one row per sample. If it returns something else, such as its own loss,
    this is tried with its largest part instead; if that does not either, it stays as it is.
    """
    divide(model, _way(parts, Telling.nobody()))


def install(torch: ModuleType, desk: Desk, parts: int = 4) -> None:
    """Does so with every model that the script calls."""

    def before_first(model: Any) -> None:
        if not models.in_backward() and any(True for _ in model.parameters()):
            divide(model, _way(parts, Telling.at(desk)))

    desk.calls.before_first(before_first)


def _way(parts: int, tell: Telling) -> Way:
    return Way(parts, _is_trained, recomputing.recompute, _without_cache, tell)


def _is_trained(module: Any) -> bool:
    import torch

    is_recomputed = recomputing.inside_recomputed_call() or recomputing.recomputed_by_script()
    return bool(torch.is_grad_enabled() and module.training) and not is_recomputed


def _without_cache(module: Any, kwargs: dict[str, Any]) -> dict[str, Any]:
    """transformers' models make a key-value cache unless told otherwise; in training nobody reads it."""
    forward = inspect.unwrap(type(module).forward)
    if "use_cache" in inspect.signature(forward).parameters and kwargs.get("past_key_values") is None:
        return {**kwargs, "use_cache": False}
    return kwargs
