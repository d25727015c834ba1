"""class: none
cap_mib: 4096
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


gen, dis = Net(1024, 4, 1024).cuda(), Net(1024, 4, 1).cuda()
og, od = torch.optim.Adam(gen.parameters()), torch.optim.Adam(dis.parameters())
for step in range(12):
    z = torch.randn(256, 1024, device="cuda")
    real = torch.randn(256, 1024, device="cuda")
    fake = gen(z)
    od.zero_grad()
    (F.softplus(-dis(real)).mean() + F.softplus(dis(fake.detach())).mean()).backward()
    od.step()
    og.zero_grad()
    F.softplus(-dis(fake)).mean().backward()
    og.step()
