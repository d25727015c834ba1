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


store = []


def hook(module, args, output):
    store.append(output.detach().clone())  # guilty


model = Net().cuda()
model.layers[2].register_forward_hook(hook)
opt = torch.optim.SGD(model.parameters(), lr=0.01)
for step in range(100000):
    x = torch.randn(1024, 1024, device="cuda")
    y = torch.randint(0, 10, (1024,), device="cuda")
    opt.zero_grad()
    F.cross_entropy(model(x), y).backward()
    opt.step()
