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


def train(model, optimizer, steps):
    running = 0.0
    for step in range(steps):
        x = torch.randn(512, 1024, device="cuda")
        y = torch.randint(0, 10, (512,), device="cuda")
        optimizer.zero_grad()
        logits = model(x)
        loss = F.cross_entropy(logits, y)
        running += loss  # guilty
        optimizer.step()
    return running


net = Net().cuda()
train(net, torch.optim.SGD(net.parameters(), 0.1), 100000)
