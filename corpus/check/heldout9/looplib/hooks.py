"""Hooks get the engine and the result of a step."""
from __future__ import annotations

import torch


class Hook:
    def after_step(self, engine, result: dict) -> None: ...

    def after_epoch(self, engine) -> None: ...


class LossHistory(Hook):
    """Keeps every train loss for the plot at the end."""

    def __init__(self):
        self.values: list[torch.Tensor] = []

    def after_step(self, engine, result):
        self.values.append(result["loss"])

    def curve(self) -> list[float]:
        return [v.item() for v in self.values]


class PeakMemory(Hook):
    def __init__(self):
        self.peaks: list[int] = []

    def after_epoch(self, engine):
        self.peaks.append(torch.cuda.max_memory_allocated())
        torch.cuda.reset_peak_memory_stats()


class KeepLogits(Hook):
    """For the confusion matrix over the validation set."""

    def __init__(self):
        self.seen = {}

    def after_eval_step(self, engine, step: int, logits, target):
        self.seen[step] = (logits, target.cpu())
