"""class: leak
cap_mib: 1200
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


import copy

model = Net(1024, 6).cuda()
opt = torch.optim.SGD(model.parameters(), 0.1)
snapshots = []
for epoch in range(1000):
    for i in range(5):
        x = torch.randn(256, 1024, device="cuda")
        y = torch.randint(0, 10, (256,), device="cuda")
        opt.zero_grad()
        F.cross_entropy(model(x), y).backward()
        opt.step()
    snapshots.append(copy.deepcopy(model.state_dict()))  # guilty
