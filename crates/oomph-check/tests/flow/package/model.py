import torch
from torch import nn


class Base(nn.Module):
    def loss(self, out, y):
        return nn.functional.cross_entropy(out, y)


class Classifier(Base):
    def __init__(self):
        super().__init__()
        self.layers = nn.Sequential(nn.Linear(3, 3), nn.Linear(3, 3))

    def forward(self, x):
        return self.layers(x)
