# --- bad
import torch

def distances(a, b):
    return (a[:, None] - b[None]).pow(2).sum(-1)
# --- good
import torch

def distances(a, b):
    return torch.cdist(a, b).square()
# --- bad
import torch

def kernel(x, y, sigma):
    squared = ((x.unsqueeze(1) - y.unsqueeze(0)) ** 2).sum(2)
    return torch.exp(-squared / sigma)

def nearest(x, y):
    return torch.norm(x[:, None, :] - y[None, :, :], dim=-1).argmin(1)
# --- good
import torch

def kernel(x, y, sigma):
    return torch.exp(-torch.cdist(x, y).square() / sigma)

def nearest(x, y):
    return torch.cdist(x, y).argmin(1)
# --- bad
import torch

def distances(a, b):
    apart = a[:, None] - b[None]
    return apart.norm(dim=-1)
# --- good
import torch

def distances(a, b):
    return torch.cdist(a, b)
# --- silent
import torch

def forces(a, b):
    apart = a[:, None] - b[None]
    length = apart.norm(dim=-1)
    return apart / length.unsqueeze(-1)
# --- silent
import torch

def centred(x):
    return (x - x.mean(0)).pow(2).sum(-1)
# --- silent
import torch

def offsets(a, b):
    return a[:, None] - b[None]
# --- silent
import torch

def farthest(points):
    tried = torch.rand((20, 2))
    return ((points[:, None, :] - tried[None, :, :]) ** 2).sum(dim=2).min(0).values.argmax()
# --- silent
import numpy as np

def distances(a, b):
    return ((a[:, None] - b[None]) ** 2).sum(-1)
# --- silent
import torch

def grid(a, b):
    return (a[:, None] - b[None]).pow(2).sum()
