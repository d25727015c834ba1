"""A copy of the weights after every step, for averaging at the end."""

import copy
import os

import torch
from torch import nn

steps = int(os.environ.get("STEPS", 30))


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc1 = nn.Linear(400, 800)
        self.fc2 = nn.Linear(800, 400)

    def forward(self, x):
        return self.fc2(torch.relu(self.fc1(x)))


net = Net().cuda()
opt = torch.optim.SGD(net.parameters(), lr=0.02, momentum=0.9)
history = []

for step in range(steps):
    x = torch.randn(128, 400, device="cuda")
    loss = (net(x) - x).abs().mean()
    opt.zero_grad()
    loss.backward()
    opt.step()
    history.append(copy.deepcopy(net.state_dict()))  # leak
    print(f"step {step}: {loss.item():.4f} ({len(history)} states)")
