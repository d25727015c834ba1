"""class: leak
cap_mib: 1100
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


def fit(model, opt):
    for i in range(8):
        x = torch.randn(512, 1024, device="cuda")
        y = torch.randint(0, 10, (512,), device="cuda")
        opt.zero_grad()
        F.cross_entropy(model(x), y).backward()
        opt.step()


def validate(model):
    model.eval()
    total = torch.zeros((), device="cuda")
    for i in range(100000):
        x = torch.randn(512, 1024, device="cuda")
        y = torch.randint(0, 10, (512,), device="cuda")
        out = model(x)
        val_loss = F.cross_entropy(out, y)
        total = total + val_loss  # guilty
    return total / 100000


net = Net().cuda()
fit(net, torch.optim.Adam(net.parameters()))
validate(net)
