"""class: too_big
cap_mib: 1024
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


model = Net(1024, 10).cuda()
opt = torch.optim.SGD(model.parameters(), 0.1)
sizes = [1024, 3072, 2048, 4096, 1024, 2048, 3072, 1024, 4096, 2048, 20000, 1024]
for size in sizes:
    x = torch.randn(size, 1024, device="cuda")
    y = torch.randint(0, 10, (size,), device="cuda")
    opt.zero_grad()
    out = model(x)  # guilty
    F.cross_entropy(out, y).backward()
    opt.step()
