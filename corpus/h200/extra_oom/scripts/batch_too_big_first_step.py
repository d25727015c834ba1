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


model = Net(1024, 12).cuda()
opt = torch.optim.SGD(model.parameters(), 0.1)
for step in range(10):
    x = torch.randn(32768, 1024, device="cuda")
    y = torch.randint(0, 10, (32768,), device="cuda")
    out = model(x)  # guilty
    loss = F.cross_entropy(out, y)
    opt.zero_grad()
    loss.backward()
    opt.step()
