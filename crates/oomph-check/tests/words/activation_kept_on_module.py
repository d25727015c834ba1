import torch
from torch import nn
class Attn(nn.Module):
    def __init__(self, d):
        super().__init__()
        self.q = nn.Linear(d, d)
        self.k = nn.Linear(d, d)
    def forward(self, x):
        a = torch.softmax(self.q(x) @ self.k(x).transpose(1, 2), -1)
        self.attn_map = a  # <-
        return a @ x
# ---
import torch
from torch import nn
class Spectrogram(nn.Module):
    def __init__(self):
        super().__init__()
        self.seq = nn.Linear(8, 8)
    def forward(self, x):
        logits = self.seq(x)
        self.magnitude = torch.sigmoid(logits)
        return logits, self.magnitude
class Features(nn.Module):
    def __init__(self):
        super().__init__()
        self.first = nn.Linear(8, 8)
        self.second = nn.Linear(8, 8)
    def forward(self, x):
        x = self.first(x)
        self.vector = x  # <-
        x = self.second(torch.relu(x))
        return x
# ---
import torch
from torch import nn
from torch.nn import functional as F

class Pyramid(nn.Module):
    def __init__(self):
        super().__init__()
        self.first = nn.Conv2d(3, 8, 3)
        self.second = nn.Conv2d(8, 8, 3)
        self.head = nn.Conv2d(8, 2, 1)
    def forward(self, x, y):
        self.middle = self.second(self.first(x))  # <-
        return F.cross_entropy(self.head(self.middle), y)
