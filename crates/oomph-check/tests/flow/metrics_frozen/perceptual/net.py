from torch import nn
from torchvision import models


class Features(nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = models.vgg16(weights="DEFAULT").features
        self.set_requires_grad(False)

    def set_requires_grad(self, state):
        for param in self.parameters():
            param.requires_grad = state

    def forward(self, x):
        return self.layers(x)


class Distance(nn.Module):
    def __init__(self):
        super().__init__()
        self.net = Features()

    def forward(self, x, y):
        return (self.net(x) - self.net(y)).pow(2).mean()
