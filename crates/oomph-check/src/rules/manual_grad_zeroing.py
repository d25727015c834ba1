# --- bad
import torch

def clear(model):
    for p in model.parameters():
        if p.grad is not None:
            p.grad.data.zero_()
# --- good
import torch

def clear(model):
    model.zero_grad()
# --- bad
import torch

class Trainer:
    def step(self, x):
        for name, param in self.model.named_parameters():
            param.grad.detach_()
            param.grad.zero_()
        self.model(x).sum().backward()
# --- good
import torch

class Trainer:
    def step(self, x):
        self.model.zero_grad()
        self.model(x).sum().backward()
# --- silent
import torch

def clear_head(model):
    for name, p in model.named_parameters():
        if name.startswith('head'):
            p.grad.zero_()
# --- silent
import torch

def sgd(params, lr):
    with torch.no_grad():
        for p in params:
            p -= lr * p.grad
            p.grad.zero_()
# --- silent
import torch

def descend(model, lr):
    for p in model.parameters():
        p.data.add_(p.grad, alpha=-lr)
        p.grad.zero_()
# --- silent
import torch

class Base(torch.nn.Module):
    def zero_grad(self, set_to_none=False):
        for p in self.parameters():
            if p.grad is not None:
                p.grad.zero_()
