# --- bad
import torch

VOCABULARY = 50_257

def one_hot(tokens):
    return torch.eye(VOCABULARY)[tokens]
# --- good
import torch

table = torch.nn.Embedding(50_257, 64)

def embed(tokens):
    return table(tokens)
# --- bad
import torch
from torch import nn

class Attention(nn.Module):
    def forward(self, q, k, v):
        n = q.size(-2)
        mask = torch.tril(torch.ones(n, n, device=q.device))
        scores = (q @ k.transpose(-2, -1)).masked_fill(mask == 0, float('-inf'))
        return scores.softmax(-1), v
# --- good
import torch.nn.functional as F
from torch import nn

class Attention(nn.Module):
    def forward(self, q, k, v):
        return F.scaled_dot_product_attention(q, k, v, is_causal=True), v
# --- silent
import torch

def one_hot(labels, classes=10):
    return torch.eye(classes)[labels]
# --- silent
import torch
from torch import nn

class Attention(nn.Module):
    def __init__(self, n):
        super().__init__()
        self.register_buffer('mask', torch.tril(torch.ones(n, n)))
# --- silent
import torch
from torch import nn

class Small(nn.Module):
    def forward(self, x):
        return x * torch.tril(torch.ones(8, 8))
# --- silent
import torch
from torch import nn

class Attention(nn.Module):
    def forward(self, x):
        n = x.size(1)
        return torch.ones(n, n, dtype=torch.bool, device=x.device).tril()
