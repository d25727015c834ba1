# --- bad
import torch

def attend(hidden, encoder_outputs):
    length = encoder_outputs.shape[1]
    hidden = hidden.unsqueeze(1).repeat(1, length, 1)
    return torch.cat((hidden, encoder_outputs), dim=2)
# --- good
import torch

def attend(hidden, encoder_outputs):
    length = encoder_outputs.shape[1]
    hidden = hidden.unsqueeze(1).expand(-1, length, -1)
    return torch.cat((hidden, encoder_outputs), dim=2)
# --- bad
import torch

def embed(x, pos):
    return x + pos.unsqueeze(0).repeat(x.size(0), 1, 1)
# --- good
import torch

def embed(x, pos):
    return x + pos.unsqueeze(0)
# --- bad
import torch
from torch import nn

class Tokens(nn.Module):
    def __init__(self, count, width):
        super().__init__()
        self.first = nn.Parameter(torch.zeros(1, 1, width))
        self.position = nn.Parameter(torch.zeros((1, count, width)))

    def forward(self, x):
        first = self.first.repeat(x.size(0), 1, 1)
        x = torch.cat([first, x], dim=1)
        return x + self.position.repeat(x.size(0), 1, 1)
# --- good
import torch
from torch import nn

class Tokens(nn.Module):
    def __init__(self, count, width):
        super().__init__()
        self.first = nn.Parameter(torch.zeros(1, 1, width))
        self.position = nn.Parameter(torch.zeros((1, count, width)))

    def forward(self, x):
        first = self.first.expand(x.size(0), -1, -1)
        x = torch.cat([first, x], dim=1)
        return x + self.position
# --- silent
import torch
from torch import nn

class Tokens(nn.Module):
    def __init__(self, count, width):
        super().__init__()
        self.query = nn.Parameter(torch.zeros(2, count, width))

    def forward(self, x):
        return x + self.query.repeat(x.size(0) // 2, 1, 1)
# --- silent
import torch

def tile(x):
    return x.repeat(2, 1) + 1
# --- silent
import torch

def rows(x, n):
    y = x.unsqueeze(0).repeat(n, 1)
    y[0] += 1
    return y + 1
# --- silent
import torch

def beams(x, n):
    return x.unsqueeze(1).repeat(1, n, 1).view(-1, x.size(-1))
# --- silent
words = 'ab' * 3 + 'c'
