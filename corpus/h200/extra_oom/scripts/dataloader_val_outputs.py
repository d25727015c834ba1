"""class: leak
cap_mib: 1200
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



from torch.utils.data import DataLoader, TensorDataset


def evaluate(model, loader):
    model.eval()
    logits_all = []
    for images, labels in loader:
        images = images.to("cuda", non_blocking=True)
        logits = model(images)  # guilty
        logits_all.append(logits)
    return torch.cat(logits_all)


data = TensorDataset(torch.randn(4096, 3, 64, 64), torch.randint(0, 10, (4096,)))
evaluate(Cnn().cuda(), DataLoader(data, batch_size=16))
