"""A small trainer class that keeps what each training step returns, as trainers do for an epoch-end hook."""

import os
from typing import Any

import torch
import torch.nn as nn


class Trainer:
    def __init__(self, module: nn.Module, iterations: int) -> None:
        self.module = module.cuda()
        self.optimizer = torch.optim.AdamW(module.parameters(), lr=1e-3)
        self.iterations = iterations
        self.step_outputs: list[dict[str, Any]] = []

    def training_step(self, batch: torch.Tensor) -> dict[str, Any]:
        rebuilt = self.module(batch)  # leak
        loss = nn.functional.mse_loss(rebuilt, batch)  # leak
        return {"loss": loss, "rebuilt": rebuilt, "batch": batch}  # leak

    def fit(self) -> None:
        for iteration in range(self.iterations):
            batch = torch.randn(300, 900, device="cuda")  # leak
            output = self.training_step(batch)  # leak
            self.optimizer.zero_grad()
            output["loss"].backward()
            self.optimizer.step()
            self.step_outputs.append(output)  # leak
            print("iteration", iteration, float(output["loss"]))


Trainer(nn.Sequential(nn.Linear(900, 128), nn.ReLU(), nn.Linear(128, 900)), int(os.environ.get("STEPS", 30))).fit()
