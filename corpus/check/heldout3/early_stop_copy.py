from __future__ import annotations

import copy
import math
from typing import Callable

import torch
from torch import nn


class EarlyStopping:
    """Stops when the score has not improved for `patience` checks and restores the best weights."""

    def __init__(self, patience: int = 5, delta: float = 0.0) -> None:
        self.patience, self.delta = patience, delta
        self.best = -math.inf
        self.bad = 0
        self.best_model: nn.Module | None = None

    def check(self, score: float, model: nn.Module) -> bool:
        if score > self.best + self.delta:
            self.best, self.bad = score, 0
            self.best_model = copy.deepcopy(model)
        else:
            self.bad += 1
        return self.bad >= self.patience


def fit(model: nn.Module, loader, evaluate: Callable[[nn.Module], float], epochs: int = 100) -> nn.Module:
    model = model.to("cuda")
    optimizer = torch.optim.AdamW(model.parameters(), lr=3e-4)
    stopper = EarlyStopping()
    snapshots = []
    for epoch in range(epochs):
        model.train()
        for x, y in loader:
            loss = nn.functional.cross_entropy(model(x.to("cuda")), y.to("cuda"))
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
        if epoch >= epochs - 10:
            snapshots.append(copy.deepcopy(model.state_dict()))
        if stopper.check(evaluate(model), model):
            break
    if snapshots:
        avg = {k: sum(s[k].float() for s in snapshots) / len(snapshots) for k in snapshots[0]}
        torch.save(avg, "averaged.pt")
    return stopper.best_model or model
