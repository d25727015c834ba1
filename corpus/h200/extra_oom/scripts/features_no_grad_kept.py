"""class: leak
cap_mib: 900
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
def extract(model, n):
    feats = []
    for i in range(n):
        batch = torch.randn(2048, 1024, device="cuda")
        f = model.layers[0](batch)  # guilty
        feats.append(f)
    return feats


extract(Net().cuda().eval(), 100000)
