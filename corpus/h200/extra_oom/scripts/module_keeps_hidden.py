"""class: leak
cap_mib: 1000
"""
import torch
import torch.nn as nn
import torch.nn.functional as F



class Tracker(nn.Module):
    def __init__(self):
        super().__init__()
        self.a = nn.Linear(1024, 1024)
        self.b = nn.Linear(1024, 1024)
        self.seen = []

    def forward(self, x):
        h = torch.tanh(self.a(x))
        self.seen.append(h)
        h = torch.relu(self.b(h))
        return h.pow(2).mean()


m = Tracker().cuda()
opt = torch.optim.SGD(m.parameters(), lr=0.01)
for step in range(100000):
    data = torch.randn(1024, 1024, device="cuda")
    loss = m(data)  # guilty
    opt.zero_grad()
    loss.backward()
    opt.step()
