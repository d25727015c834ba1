"""smalltrain.callbacks"""
from __future__ import annotations

import json
from collections import defaultdict
from pathlib import Path

import torch


class Callback:
    def on_fit_start(self, trainer): ...
    def on_batch_end(self, trainer, output): ...
    def on_epoch_end(self, trainer): ...


class History(Callback):
    """Keeps every value the step function returned."""

    def __init__(self):
        self.values = defaultdict(list)

    def on_batch_end(self, trainer, output):
        for key, value in output.items():
            self.values[key].append(value)

    def on_epoch_end(self, trainer):
        mean = float(torch.stack(self.values["loss"]).mean())
        print(f"epoch {trainer.epoch}: {mean:.4f}")


class FreeMemory(Callback):
    def on_batch_end(self, trainer, output):
        torch.cuda.empty_cache()


class SaveBest(Callback):
    def __init__(self, path: str, monitor: str = "val_loss"):
        self.path, self.monitor, self.best = Path(path), monitor, float("inf")

    def on_epoch_end(self, trainer):
        value = trainer.metrics[self.monitor]
        if value < self.best:
            self.best = value
            torch.save(trainer.model.state_dict(), self.path)
            self.path.with_suffix(".json").write_text(json.dumps({self.monitor: value}))


class Trainer:
    def __init__(self, model, optimizer, step_fn, callbacks=()):
        self.model, self.optimizer, self.step_fn = model, optimizer, step_fn
        self.callbacks = list(callbacks)
        self.epoch, self.metrics = 0, {}

    def fit(self, loader, epochs):
        for cb in self.callbacks:
            cb.on_fit_start(self)
        for self.epoch in range(epochs):
            for batch in loader:
                out = self.step_fn(self.model, batch)
                self.optimizer.zero_grad()
                out["loss"].backward()
                self.optimizer.step()
                for cb in self.callbacks:
                    cb.on_batch_end(self, out)
            for cb in self.callbacks:
                cb.on_epoch_end(self)
