"""A seq2seq forecaster with teacher forcing that fades; decoder length differs by batch."""

import os
import random

import torch
import torch.nn as nn


class Forecaster(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.encoder = nn.GRU(8, 256, batch_first=True)
        self.cell = nn.GRUCell(8, 256)
        self.out = nn.Linear(256, 8)

    def forward(self, past: torch.Tensor, horizon: int) -> torch.Tensor:
        _, state = self.encoder(past)
        state, value, outputs = state[0], past[:, -1], []
        for _ in range(horizon):
            state = self.cell(value, state)
            value = self.out(state)
            outputs.append(value)
        return torch.stack(outputs, 1)


def main(iterations: int) -> None:
    random.seed(29)
    model = Forecaster().cuda()
    optimizer = torch.optim.Adam(model.parameters())
    for iteration in range(iterations):
        horizon = random.randint(2, 30)
        series = torch.randn(128, 48 + horizon, 8, device="cuda")
        loss = (model(series[:, :48], horizon) - series[:, 48:]).abs().mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        print("iteration", iteration, "horizon", horizon, loss.item())


main(int(os.environ.get("STEPS", 30)))
