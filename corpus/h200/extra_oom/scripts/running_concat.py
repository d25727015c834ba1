"""class: growth
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


model = Net().cuda().eval()
predictions = torch.empty(0, 1024, device="cuda")
with torch.no_grad():
    for i in range(100000):
        batch = torch.randn(4096, 1024, device="cuda")
        hidden = torch.relu(model.layers[0](batch))
        predictions = torch.cat((predictions, hidden))  # guilty
