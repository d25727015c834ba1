"""class: none
cap_mib: 4096
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



class Loop:
    def __init__(self):
        self.model = Cnn().cuda()
        self.opt = torch.optim.AdamW(self.model.parameters())
        self.history = []

    def run(self):
        for epoch in range(3):
            for i in range(5):
                self.train_batch()
            with torch.no_grad():
                for i in range(3):
                    self.eval_batch()

    def train_batch(self):
        x = torch.randn(16, 3, 64, 64, device="cuda")
        y = torch.randint(0, 10, (16,), device="cuda")
        loss = F.cross_entropy(self.model(x), y)
        self.opt.zero_grad()
        loss.backward()
        self.opt.step()
        self.history.append(loss.detach())

    def eval_batch(self):
        x = torch.randn(32, 3, 64, 64, device="cuda")
        self.history.append(self.model(x).mean())


Loop().run()
