from __future__ import annotations

from typing import Callable, Iterable

import torch
from torch import nn


class Engine:
    def __init__(self, model: nn.Module, loss: Callable, lr: float, accumulate: int = 1, hooks=(), device="cuda"):
        self.model = model.to(device)
        self.loss = loss
        self.device = device
        self.accumulate = accumulate
        self.hooks = list(hooks)
        self.optimizer = torch.optim.AdamW(self.model.parameters(), lr)
        self.base_lr = lr
        self.schedule = torch.optim.lr_scheduler.LambdaLR(self.optimizer, lambda e: 1 / (1 + e * self.base_lr))

    def _move(self, batch):
        return [t.to(self.device) for t in batch]

    def _train_step(self, x, y, update: bool):
        self.optimizer.zero_grad()
        out = self.model(x)
        value = self.loss(out, y)
        (value / self.accumulate).backward()
        if update:
            self.optimizer.step()
        return {"loss": value, "n": len(x)}

    def train_epoch(self, loader: Iterable):
        self.model.train()
        last = len(loader) - 1
        for i, batch in enumerate(loader):
            update = (i + 1) % self.accumulate == 0 or i == last
            result = self._train_step(*self._move(batch), update)
            for h in self.hooks:
                h.after_step(self, result)
        self.schedule.step()
        for h in self.hooks:
            h.after_epoch(self)

    def evaluate(self, loader: Iterable, keeper=None) -> float:
        self.model.eval()
        right = total = 0
        for i, batch in enumerate(loader):
            x, y = self._move(batch)
            logits = self.model(x)
            if keeper is not None:
                keeper.after_eval_step(self, i, logits, y)
            right += (logits.argmax(1) == y).sum().item()
            total += len(y)
        return right / total
