# --- bad
import gc
import torch

gc.disable()

def train(model, train_loader, optimizer):
    for x, y in train_loader:
        optimizer.zero_grad()
        model(x).sum().backward()
        optimizer.step()
# --- good
import gc
import torch

gc.disable()

def train(model, train_loader, optimizer):
    for i, (x, y) in enumerate(train_loader):
        optimizer.zero_grad()
        model(x).sum().backward()
        optimizer.step()
        if i % 500 == 0:
            gc.collect()
# --- silent
import gc
import time
import torch

def measure(model, x):
    gc.disable()
    start = time.perf_counter()
    model(x).sum().backward()
    gc.enable()
    return time.perf_counter() - start
# --- silent
import gc
import json
import torch

gc.disable()
print(json.load(open('config.json')), torch.__version__)
