# --- bad
import torch

def train(model, loader, optimizer, criterion):
    for x, y in loader:
        x = x.cuda().requires_grad_()
        loss = criterion(model(x), y)
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()
# --- good
import torch

def train(model, loader, optimizer, criterion):
    for x, y in loader:
        x = x.cuda()
        loss = criterion(model(x), y)
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()
# --- bad
import torch
from torch.autograd import Variable

def train(model, loader, optimizer, criterion):
    for x, y in loader:
        x = Variable(x, requires_grad=True)
        criterion(model(x), y).backward()
        optimizer.step()
        optimizer.zero_grad()
# --- good
import torch

def train(model, loader, optimizer, criterion):
    for x, y in loader:
        criterion(model(x), y).backward()
        optimizer.step()
        optimizer.zero_grad()
# --- silent
import torch

def train(model, loader, optimizer, criterion, eps):
    for x, y in loader:
        x.requires_grad_()
        criterion(model(x), y).backward()
        adv = x + eps * x.grad.sign()
        criterion(model(adv.detach()), y).backward()
        optimizer.step()
# --- silent
import torch

def train(model, loader, optimizer):
    for x, _ in loader:
        x.requires_grad_(True)
        u = model(x)
        du, = torch.autograd.grad(u.sum(), x, create_graph=True)
        (du ** 2).mean().backward()
        optimizer.step()
