"""class: growth
cap_mib: 1500
"""
import torch
import torch.nn as nn
import torch.nn.functional as F


class Net(nn.Module):
    def __init__(self, width=1024, depth=6, classes=10):
        super().__init__()
        self.layers = nn.ModuleList([nn.Linear(width, width) for _ in range(depth)])
        self.head = nn.Linear(width, classes)

    def forward(self, x):
        for layer in self.layers:
            x = torch.relu(layer(x))
        return self.head(x)


@torch.no_grad()
def decode(model, steps):
    seq = torch.randn(256, 1, 1024, device="cuda")
    for t in range(steps):
        nxt = model.layers[0](seq[:, -1:])
        seq = torch.cat([seq, nxt], dim=1)  # guilty
    return seq


decode(Net().cuda(), 100000)
