"""class: leak
cap_mib: 900
"""
import torch
import torch.nn as nn
import torch.nn.functional as F

class Block(nn.Module):
    def __init__(self, i, o):
        super().__init__()
        self.conv = nn.Conv2d(i, o, 3, padding=1)
        self.norm = nn.BatchNorm2d(o)

    def forward(self, x):
        return F.relu(self.norm(self.conv(x)))


class Cnn(nn.Module):
    def __init__(self, width=32, classes=10):
        super().__init__()
        self.stem = Block(3, width)
        self.body = nn.Sequential(Block(width, width), nn.MaxPool2d(2), Block(width, 2 * width), nn.AdaptiveAvgPool2d(1))
        self.fc = nn.Linear(2 * width, classes)

    def forward(self, x):
        x = self.stem(x)
        x = self.body(x).flatten(1)
        return self.fc(x)



def make_batch(n):
    return torch.randn(n, 3, 96, 96, device="cuda")


model = Cnn().cuda()
opt = torch.optim.SGD(model.parameters(), lr=0.1)
seen = []
for step in range(100000):
    batch = make_batch(32)  # guilty
    seen.append(batch)
    opt.zero_grad()
    model(batch).mean().backward()
    opt.step()
