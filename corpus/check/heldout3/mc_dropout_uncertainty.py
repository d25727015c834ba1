"""Epistemic uncertainty of a regression net by keeping dropout on at test time."""
from typing import Iterable

import numpy as np
import torch
from torch import Tensor, nn


def enable_dropout(net: nn.Module) -> None:
    for m in net.modules():
        if isinstance(m, nn.Dropout):
            m.train()


class MCDropout:
    def __init__(self, net: nn.Module, passes: int = 50, device: str = "cuda") -> None:
        self.net = net.to(device)
        self.passes = passes
        self.device = device

    def predict(self, loader: Iterable[tuple[Tensor, Tensor]]) -> tuple[np.ndarray, np.ndarray]:
        self.net.eval()
        enable_dropout(self.net)
        means, stds = [], []
        for x, _ in loader:
            x = x.to(self.device)
            draws = torch.stack([self.net(x) for _ in range(self.passes)])
            means.append(draws.mean(0).detach().cpu().numpy())
            stds.append(draws.std(0).detach().cpu().numpy())
        return np.concatenate(means), np.concatenate(stds)


def calibration(mean: np.ndarray, std: np.ndarray, truth: np.ndarray, bins: int = 10) -> list[float]:
    z = np.abs(truth - mean) / np.maximum(std, 1e-9)
    edges = np.linspace(0.2, 3.0, bins)
    return [float((z < e).mean()) for e in edges]
