import torch
from torch import nn

class Positions(nn.Module):
    def __init__(self, n, dim):
        super().__init__()
        self.pos = nn.Parameter(torch.zeros(1, n, dim))
        self.lin = nn.Linear(3, dim)

    def forward(self, points):
        pos = self.pos.repeat(points.size(0), 1, 1)  # <-
        return self.lin(points) + pos
# ---
import torch
from torch import nn
class Places(nn.Module):
    def __init__(self, length, width):
        super().__init__()
        self.place = nn.Parameter(torch.zeros(1, length, width))
    def forward(self, x):
        return x + self.place[:, : x.size(1)].repeat(x.size(0), 1, 1)  # <-
# ---
import torch
for members, mean in batches:
    shift = net(mean.cuda()).unsqueeze(1).repeat(1, members.shape[1], 1, 1)  # <-
    loss = (members.cuda() + shift).abs().mean()
