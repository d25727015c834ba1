# --- bad
from torch import nn

class Block(nn.Module):
    def __init__(self):
        super().__init__()
        self.attn = nn.MultiheadAttention(512, 8, batch_first=True)

    def forward(self, x):
        out, _ = self.attn(x, x, x)
        return x + out
# --- good
from torch import nn

class Block(nn.Module):
    def __init__(self):
        super().__init__()
        self.attn = nn.MultiheadAttention(512, 8, batch_first=True)

    def forward(self, x):
        out, _ = self.attn(x, x, x, need_weights=False)
        return x + out
# --- bad
import torch.nn as nn

class Layer(nn.Module):
    def __init__(self, dim, heads):
        super().__init__()
        self.self_attn = nn.MultiheadAttention(dim, heads)

    def forward(self, x, mask):
        return x + self.self_attn(x, x, value=x, attn_mask=mask)[0]
# --- good
import torch.nn as nn

class Layer(nn.Module):
    def __init__(self, dim, heads):
        super().__init__()
        self.self_attn = nn.MultiheadAttention(dim, heads)

    def forward(self, x, mask):
        return x + self.self_attn(x, x, value=x, attn_mask=mask, need_weights=False)[0]
# --- bad
from torch import nn

class Stack(nn.Module):
    def __init__(self, depth, dim):
        super().__init__()
        self.layers = nn.ModuleList([nn.MultiheadAttention(dim, 8) for _ in range(depth)])

    def forward(self, x):
        for attend in self.layers:
            h, _weights = attend(x, x, x)
            x = x + h
        return x
# --- good
from torch import nn

class Stack(nn.Module):
    def __init__(self, depth, dim):
        super().__init__()
        self.layers = nn.ModuleList([nn.MultiheadAttention(dim, 8) for _ in range(depth)])

    def forward(self, x):
        for attend in self.layers:
            h, _weights = attend(x, x, x, need_weights=False)
            x = x + h
        return x
# --- silent
from torch import nn

class Recurrent(nn.Module):
    def __init__(self, dim):
        super().__init__()
        self.mix = nn.GRU(dim, dim)

    def forward(self, x):
        out, _ = self.mix(x)
        return out

class Attentive(nn.Module):
    def __init__(self, dim):
        super().__init__()
        self.mix = nn.MultiheadAttention(dim, 8)

    def forward(self, x):
        out, _ = self.mix(x, x, x, need_weights=False)
        return out
# --- silent
from torch import nn

class Stack(nn.Module):
    def __init__(self, depth, dim):
        super().__init__()
        self.layers = nn.ModuleList([nn.GRU(dim, dim) for _ in range(depth)])
        self.mixed = nn.ModuleList([nn.MultiheadAttention(dim, 8), nn.GRU(dim, dim)])

    def forward(self, x):
        for layer in self.layers:
            x, _ = layer(x)
        for layer in self.mixed:
            x, _ = layer(x, x, x)
        return x
# --- silent
from torch import nn

class Block(nn.Module):
    def __init__(self):
        super().__init__()
        self.attn = nn.MultiheadAttention(512, 8)

    def forward(self, x):
        out, weights = self.attn(x, x, x)
        return x + out, weights
# --- silent
from torch import nn

class Block(nn.Module):
    def __init__(self):
        super().__init__()
        self.attn = nn.MultiheadAttention(512, 8)

    def forward(self, x):
        result = self.attn(x, x, x)
        return x + result[0], result[1]
# --- silent
from torch import nn
from mine import MultiheadAttention

class Block(nn.Module):
    def __init__(self):
        super().__init__()
        self.attn = MultiheadAttention(512, 8)

    def forward(self, x):
        out, _ = self.attn(x, x, x)
        return out
# --- silent
from torch import nn

class Block(nn.Module):
    def __init__(self):
        super().__init__()
        self.attn = nn.MultiheadAttention(512, 8)

    def forward(self, x):
        out, _ = self.attn(x, x, x, None, False)
        return out
