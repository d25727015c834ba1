import torch
from torch import nn


def conv(i, o):
    return nn.Sequential(nn.Conv2d(i, o, 3, padding=1, bias=False), nn.BatchNorm2d(o), nn.ReLU())


class Backbone(nn.Module):
    def __init__(self, width=64, weights=None):
        super().__init__()
        self.body = nn.Sequential(conv(3, width), conv(width, 2 * width), conv(2 * width, 4 * width))
        if weights:
            self.load_state_dict(torch.load(weights), strict=False)

    def forward(self, x):
        return self.body(x)


def build(path):
    return Backbone(weights=path).to("cuda")
