import torch
import torch.nn as nn
from torch.nn import MultiheadAttention


class TwoWay(nn.Module):
    def __init__(self, dim, heads):
        super().__init__()
        self.rows = MultiheadAttention(dim, heads, batch_first=True)
        self.cols = MultiheadAttention(dim, heads, batch_first=True)

    def forward(self, table):
        b, r, c, d = table.shape
        x = table.reshape(b * r, c, d)
        x = x + self.cols(x, x, x)[0]
        x = x.view(b, r, c, d).transpose(1, 2).reshape(b * c, r, d)
        x = x + self.rows(x, x, x)[0]
        return x.view(b, c, r, d).transpose(1, 2)
