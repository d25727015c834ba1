"""class: leak
cap_mib: 1300
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


model = Net(1024, 8).cuda()
grads = []
for step in range(10000):
    x = torch.randn(64, 1024, device="cuda")
    y = torch.randint(0, 10, (64,), device="cuda")
    for p in model.parameters():
        p.grad = None
    loss = F.cross_entropy(model(x), y)
    loss.backward()  # guilty
    grads.append([p.grad for p in model.parameters()])
