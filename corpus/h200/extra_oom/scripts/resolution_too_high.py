"""class: too_big
cap_mib: 1500
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



model = Cnn(64).cuda()
opt = torch.optim.AdamW(model.parameters())


def train_one(size):
    x = torch.randn(8, 3, size, size, device="cuda")
    y = torch.randint(0, 10, (8,), device="cuda")
    logits = model(x)  # guilty
    loss = F.cross_entropy(logits, y)
    loss.backward()
    opt.step()
    opt.zero_grad()


for size in (128, 128, 128, 128, 128, 768):
    train_one(size)
