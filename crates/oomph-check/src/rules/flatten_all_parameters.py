# --- bad
import torch
from torch.nn.utils import parameters_to_vector

def distance(a, b):
    return (parameters_to_vector(a.parameters()) - parameters_to_vector(b.parameters())).norm()
# --- good
import torch

def distance(a, b):
    pairs = zip(a.parameters(), b.parameters())
    return torch.stack([(p - q).norm() for p, q in pairs]).norm()
# --- bad
import torch

def norm(model):
    return torch.cat([p.view(-1) for p in model.parameters()]).norm()
# --- good
import torch

def norm(model):
    return torch.stack([p.norm() for p in model.parameters()]).norm()
# --- silent
import torch

def join(outputs):
    return torch.cat([o.view(-1) for o in outputs])
# --- silent
import torch

def norms(model):
    return torch.cat([p.norm().view(1) for p in model.parameters()])
