# --- bad
import torch

CACHE = {}

def extract(model, loader):
    with torch.no_grad():
        for i, (x, _) in enumerate(loader):
            CACHE[i] = model(x.cuda())
# --- good
import torch

def extract(model, loader):
    cache = {}
    with torch.no_grad():
        for i, (x, _) in enumerate(loader):
            cache[i] = model(x.cuda()).cpu()
    return cache
# --- bad
import torch
from torch import nn

outputs = []

class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.body = nn.Linear(8, 8)

    def forward(self, x):
        y = self.body(x)
        outputs.append(y)
        return y
# --- good
import torch
from torch import nn

class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.body = nn.Linear(8, 8)

    def forward(self, x):
        return self.body(x)
# --- silent
import torch
from collections import deque

RECENT = deque(maxlen=10)

def run(model, loader):
    for x, _ in loader:
        RECENT.append(model(x.cuda()).detach())
# --- silent
import torch

HISTORY = []

def run(model, loader):
    for x, _ in loader:
        HISTORY.append(model(x.cuda()).mean().item())
# --- silent
import torch

FEATS = []

def run(model, loader):
    for x, _ in loader:
        FEATS.append(model(x.cuda()).detach())

def reset():
    FEATS.clear()
# --- silent
import torch

MASKS = {}

def mask(n, device):
    if n not in MASKS:
        MASKS[n] = torch.ones(n, n, device=device)
    return MASKS[n]
