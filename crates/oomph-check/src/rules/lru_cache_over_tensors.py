# --- bad
import torch
from functools import lru_cache

@lru_cache(maxsize=None)
def causal_mask(length, device):
    return torch.ones(length, length, device=device).tril()
# --- good
import torch
from functools import lru_cache

@lru_cache(maxsize=1)
def causal_mask(length, device):
    return torch.ones(length, length, device=device).tril()
# --- bad
import functools
import torch
from torch import nn

class Encoder(nn.Module):
    @functools.cache
    def positions(self, n, device):
        return torch.arange(n, device=device)
# --- good
import torch
from torch import nn

class Encoder(nn.Module):
    def positions(self, n, device):
        return torch.arange(n, device=device)
# --- bad
import functools
import torch

@functools.lru_cache(maxsize=None)
def rotated(t: torch.Tensor):
    return t.cos()
# --- good
import functools
import torch

def rotated(t: torch.Tensor):
    return t.cos()
# --- silent
import torch
from functools import lru_cache

@lru_cache(maxsize=None)
def padded(length):
    return (length + 7) // 8 * 8
# --- silent
import torch
from functools import lru_cache

@lru_cache
def identity():
    return torch.eye(4)
# --- silent
import torch
from functools import lru_cache

@lru_cache(maxsize=None)
def filters(device):
    return torch.load('filters.pt').to(device)
# --- silent
import torch
from functools import lru_cache

@lru_cache(maxsize=None)
def dtype_of(name):
    return getattr(torch, name)
