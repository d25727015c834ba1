# --- bad
import torch

def step(model, x, y, criterion):
    with torch.autocast('cuda'):
        loss = criterion(model(x), y)
        loss.backward()
# --- good
import torch

def step(model, x, y, criterion):
    with torch.autocast('cuda'):
        loss = criterion(model(x), y)
    loss.backward()
# --- silent
import torch

def step(model, x, y, criterion):
    with torch.autocast('cuda', enabled=False):
        loss = criterion(model(x), y)
        loss.backward()
