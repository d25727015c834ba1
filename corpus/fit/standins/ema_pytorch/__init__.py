"""Stands in for `ema-pytorch` where it is not installed: an averaged copy of a model."""

from __future__ import annotations

import copy
from typing import Any

import torch
from torch import nn


class EMA(nn.Module):
    def __init__(self, model: Any, beta: float = 0.995, update_every: int = 10, **_: Any) -> None:
        super().__init__()
        self.online_model = [model]
        self.ema_model = copy.deepcopy(model).requires_grad_(False)
        self.beta, self.update_every, self.updates = beta, update_every, 0

    @torch.no_grad()
    def update(self) -> None:
        self.updates += 1
        if self.updates % self.update_every == 0:
            for averaged, current in zip(self.ema_model.parameters(), self.online_model[0].parameters()):
                averaged.lerp_(current, 1 - self.beta)

    def forward(self, *args: Any, **kwargs: Any) -> Any:
        return self.ema_model(*args, **kwargs)
