"""Calls the model with a part of the batch at a time where no graph is kept: validation, tests, inference.

Batches of an evaluation are often larger than those of the training, and a model that has just been trained is still
there with its optimizer. Nothing is computed twice: what the parts return is put together.
"""

from __future__ import annotations

from collections.abc import Callable
from types import ModuleType
from typing import Any

from . import models
from .chunking import Telling, Way, divide
from .desk import Desk


def chunk_evaluation(model: Any, parts: int) -> None:
    """Makes a model compute its batches in so many parts wherever it is called without a graph (`torch.no_grad`)."""
    divide(model, _way(parts, Telling.nobody()))


def install(torch: ModuleType, desk: Desk, parts: int = 4) -> None:
    """Does so with every model that the script calls."""

    def before_first(model: Any) -> None:
        if any(True for _ in model.parameters()):
            divide(model, _way(parts, Telling.at(desk)))

    desk.calls.before_first_of_all(before_first)


def _way(parts: int, tell: Telling) -> Way:
    return Way(parts, _is_evaluated, _computed, lambda _module, kwargs: kwargs, tell)


def _is_evaluated(_module: Any) -> bool:
    import torch

    return not torch.is_grad_enabled() and not models.in_backward()


def _computed(call: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    return call(*args, **kwargs)
