import torch
from torch import nn


class Stack(nn.Module):
    def __init__(self, dims, classes):
        super().__init__()
        layers = []
        for a, b in zip(dims, dims[1:]):
            layers.append(nn.Linear(a, b))
            layers.append(nn.GELU())
        layers.append(nn.Linear(dims[-1], classes))
        self.layers = nn.Sequential(*layers)

    def forward(self, x):
        skips = []
        for layer in self.layers:
            x = layer(x)
            skips.append(x.mean())
        return x, torch.stack(skips)
