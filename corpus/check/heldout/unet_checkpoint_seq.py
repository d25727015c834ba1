import torch
import torch.utils.checkpoint as cp
from torch import nn


class Stage(nn.Module):
    def __init__(self, width, depth):
        super().__init__()
        self.convs = nn.Sequential(*[nn.Sequential(nn.Conv2d(width, width, 3, padding=1), nn.ReLU()) for _ in range(depth)])

    def forward(self, x):
        return cp.checkpoint_sequential(self.convs, 4, x)


class Net(nn.Module):
    def __init__(self, width=96):
        super().__init__()
        self.stem = nn.Conv2d(3, width, 7, stride=2, padding=3)
        self.stages = nn.Sequential(Stage(width, 12), Stage(width, 12))

    def forward(self, x):
        return self.stages(self.stem(x)).mean((2, 3))
