import torch
from torch import nn
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.base = nn.Sequential(nn.Linear(8, 8), nn.ReLU())
        self.head = nn.Linear(8, 2)
    def forward(self, x):
        return self.head(self.base(x))
    def freeze(self):
        for param in self.base.parameters():
            param.requires_grad = False
        self.base.requires_grad = False
        self.head.requires_grad = False  # <-
# ---
import torch
from parts import make
model = make("run")
for name, parameter in model.named_parameters():
    parameter.required_grad = False  # <-
def energy(x):
    return model.residual(x).sum()
with torch.no_grad():
    x = model.generate(3)
x.requires_grad_()
energy(x).backward()
# ---
import torch
from torch import nn


class Sharpened(nn.Module):
    def __init__(self):
        super().__init__()
        self.filter = nn.Conv2d(1, 1, 3, bias=False)
        self.filter.requires_grad = False  # <-

    def forward(self, x):
        with torch.no_grad():
            edges = nn.functional.conv2d(x, self.filter.weight)
        return nn.functional.conv2d(x * edges, self.filter.weight)
