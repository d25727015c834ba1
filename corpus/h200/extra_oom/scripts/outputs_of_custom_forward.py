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


def evaluate(model, batches):
    outputs = []
    for _ in range(batches):
        images = torch.randn(384, 1024, device="cuda")
        logits = model(images)  # guilty
        outputs.append(logits)
    return torch.cat(outputs)


evaluate(Net().cuda(), 100000)
