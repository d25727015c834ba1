import torch
import torch.nn as nn
import torch.nn.functional as F


class MLP(nn.Module):
    def __init__(self, d, act="gelu"):
        super().__init__()
        self.fc1, self.fc2 = nn.Linear(d, 4 * d), nn.Linear(4 * d, d)
        self.act = self._gelu if act == "gelu" else self._relu2

    def _gelu(self, x):
        return F.gelu(x, approximate="tanh")

    def _relu2(self, x):
        return F.relu(x).square()

    def forward(self, x):
        return self.fc2(self.act(self.fc1(x)))
