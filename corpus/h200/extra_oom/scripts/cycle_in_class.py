"""class: leak
cap_mib: 1100
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


class Sample:
    def __init__(self, parent=None):
        self.self_ref = self
        self.tensor = None


encoder = Net().cuda()
with torch.no_grad():
    for i in range(100000):
        s = Sample()
        x = torch.randn(4096, 1024, device="cuda")
        s.tensor = encoder.layers[0](x)  # guilty
