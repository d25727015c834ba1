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
opt = torch.optim.SGD(model.parameters(), lr=0.1)
history = {}
for step in range(10000):
    x = torch.randn(64, 1024, device="cuda")
    y = torch.randint(0, 10, (64,), device="cuda")
    opt.zero_grad()
    F.cross_entropy(model(x), y).backward()
    history[step] = {n: p.grad.clone() for n, p in model.named_parameters()}  # guilty
    opt.step()
