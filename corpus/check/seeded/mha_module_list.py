import torch
import torch.nn as nn
from torch.nn import MultiheadAttention


class Stack(nn.Module):
    def __init__(self, depth, dim):
        super().__init__()
        self.layers = nn.ModuleList([MultiheadAttention(dim, 8, dropout=0.1, batch_first=True) for _ in range(depth)])

    def forward(self, x):
        for att in self.layers:
            h, _weights = att(x, x, x)
            x = x + h
        return x
