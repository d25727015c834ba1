"""A trainer that keeps step outputs for the end of an epoch, and clears them there."""

import os

import torch
import torch.nn as nn


class Trainer:
    def __init__(self, module: nn.Module, iterations: int, per_epoch: int) -> None:
        self.module = module.cuda()
        self.optimizer = torch.optim.Adam(module.parameters())
        self.iterations, self.per_epoch = iterations, per_epoch
        self.outputs: list[torch.Tensor] = []

    def on_epoch_end(self) -> None:
        spread = torch.cat(self.outputs).std().item()
        self.outputs.clear()
        print("epoch ends, spread", spread)

    def fit(self) -> None:
        for iteration in range(self.iterations):
            x = torch.randn(256, 600, device="cuda")
            out = self.module(x)
            loss = nn.functional.mse_loss(out, x)
            self.optimizer.zero_grad()
            loss.backward()
            self.optimizer.step()
            self.outputs.append(out.detach())
            if (iteration + 1) % self.per_epoch == 0:
                self.on_epoch_end()
            print("iteration", iteration, loss.item())


Trainer(nn.Sequential(nn.Linear(600, 100), nn.Linear(100, 600)), int(os.environ.get("STEPS", 30)), per_epoch=8).fit()
