"""class: leak
cap_mib: 900
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


buffer = []
policy = Net(256, 3, 8).cuda()
obs = torch.randn(4096, 256, device="cuda")
for t in range(100000):
    with torch.no_grad():
        action = policy(obs)
    obs = torch.tanh(obs + action.mean(1, keepdim=True))  # guilty
    buffer.append((obs, action))
