"""class: none
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


import random

random.seed(3)
model = Net(512, 4).cuda()
live = []
for i in range(400):
    n = random.randrange(2, 60)
    live.append(torch.empty(n * 2**18, device="cuda"))
    while sum(t.numel() for t in live) > 500 * 2**18:
        live.pop(random.randrange(len(live)))
live = live[::5]
big = torch.empty(700 * 2**18, device="cuda")
