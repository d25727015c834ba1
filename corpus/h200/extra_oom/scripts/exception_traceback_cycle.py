"""class: leak
cap_mib: 1000
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


import gc

gc.disable()
model = Net().cuda()


def attempt():
    x = torch.randn(4096, 1024, device="cuda")
    err = None
    try:
        raise ValueError("bad sample")
    except ValueError as e:
        err = e
    return err


errors = []
for i in range(100000):
    attempt()  # guilty
    with torch.no_grad():
        model(torch.randn(64, 1024, device="cuda"))
