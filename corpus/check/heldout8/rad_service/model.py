import torch
from torch import nn


class ConvBlock(nn.Sequential):
    def __init__(self, i, o):
        super().__init__(nn.Conv2d(i, o, 3, 2, 1), nn.BatchNorm2d(o), nn.SiLU())


class ChestNet(nn.Module):
    def __init__(self, n):
        super().__init__()
        self.body = nn.Sequential(ConvBlock(1, 32), ConvBlock(32, 64), ConvBlock(64, 128), ConvBlock(128, 256))
        self.head = nn.Linear(256, n)

    def forward(self, x):
        return self.head(self.body(x).mean(dim=(2, 3)))
