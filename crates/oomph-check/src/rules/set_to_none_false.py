# --- bad
import torch

def train(model, train_loader, optimizer, criterion):
    for x, y in train_loader:
        optimizer.zero_grad(set_to_none=False)
        criterion(model(x), y).backward()
        optimizer.step()
# --- good
import torch

def train(model, train_loader, optimizer, criterion):
    for x, y in train_loader:
        optimizer.zero_grad()
        criterion(model(x), y).backward()
        optimizer.step()
# --- bad
import torch

def reset(model):
    model.zero_grad(False)
    return model.state_dict()
# --- good
import torch

def reset(model):
    model.zero_grad()
    return model.state_dict()
# --- silent
import torch

graph = torch.cuda.CUDAGraph()

def capture(model, optimizer, x):
    optimizer.zero_grad(set_to_none=False)
    with torch.cuda.graph(graph):
        model(x).sum().backward()
# --- silent
import torch

def train(model, optimizer, loader):
    for x in loader:
        optimizer.zero_grad(set_to_none=False)
        model(x).sum().backward()
        print(sum(p.grad.norm() for p in model.parameters()))
        optimizer.step()
# --- silent
import torch

class Wrapped(torch.optim.Optimizer):
    def zero_grad(self, set_to_none=False):
        super().zero_grad(set_to_none=False)
# --- silent
import torch

def train(optimizer, keep):
    optimizer.zero_grad(set_to_none=not keep)
