import torch
from torch import nn

net = nn.Linear(8, 2)
criterion = nn.CrossEntropyLoss()


def validate(loader):
    total = 0
    for x, y in loader:
        total += criterion(net(x), y).item()
    return total
