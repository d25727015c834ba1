"""class: leak
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



class Trainer:
    def __init__(self):
        self.model = Cnn().cuda()
        self.opt = torch.optim.Adam(self.model.parameters())
        self.losses = []

    def step(self, images, labels):
        self.opt.zero_grad()
        out = self.model(images)
        loss = F.cross_entropy(out, labels)  # guilty
        self.losses.append(loss)
        return loss

    def fit(self, epochs):
        for epoch in range(epochs):
            for i in range(20):
                images = torch.randn(16, 3, 64, 64, device="cuda")
                labels = torch.randint(0, 10, (16,), device="cuda")
                self.step(images, labels)


Trainer().fit(1000)
