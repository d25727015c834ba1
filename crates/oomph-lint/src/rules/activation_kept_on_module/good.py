import torch
from torch import nn


class Attention(nn.Module):
    def __init__(self, dim):
        super().__init__()
        self.qk = nn.Linear(dim, dim)

    def forward(self, x):
        weights = torch.softmax(self.qk(x) @ x.mT, -1)
        self.weights = weights.detach()
        return weights @ x
