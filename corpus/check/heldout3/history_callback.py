"""Small training framework with callbacks, as used in our lab course."""
from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import torch
from torch import Tensor, nn


@dataclass
class StepState:
    step: int = 0
    loss: Tensor | None = None
    logits: Tensor | None = None
    extras: dict[str, Any] = field(default_factory=dict)


class Callback:
    def on_step_end(self, state: StepState) -> None: ...

    def on_epoch_end(self, state: StepState) -> None: ...


class LossHistory(Callback):
    def __init__(self) -> None:
        self.curve: list[Tensor] = []

    def on_step_end(self, state: StepState) -> None:
        self.curve.append(state.loss)


class Checkpointer(Callback):
    def __init__(self, model: nn.Module, path: str) -> None:
        self.model, self.path = model, path

    def on_epoch_end(self, state: StepState) -> None:
        torch.save(self.model.state_dict(), self.path)


class Runner:
    def __init__(self, model: nn.Module, optimizer, criterion, callbacks: list[Callback], device="cuda") -> None:
        self.model = model.to(device)
        self.optimizer, self.criterion = optimizer, criterion
        self.callbacks = callbacks
        self.device = device

    def fit(self, loader, epochs: int) -> None:
        state = StepState()
        for _ in range(epochs):
            for x, y in loader:
                logits = self.model(x.to(self.device))
                loss = self.criterion(logits, y.to(self.device))
                self.optimizer.zero_grad()
                loss.backward()
                self.optimizer.step()
                state.step += 1
                state.loss, state.logits = loss, logits
                for cb in self.callbacks:
                    cb.on_step_end(state)
            for cb in self.callbacks:
                cb.on_epoch_end(state)
