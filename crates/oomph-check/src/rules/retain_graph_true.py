# --- bad
import torch

def train(model, loader, optimizer, criterion):
    for x, y in loader:
        optimizer.zero_grad()
        loss = criterion(model(x), y)
        loss.backward(retain_graph=True)
        optimizer.step()
# --- good
import torch

def train(model, loader, optimizer, criterion):
    for x, y in loader:
        optimizer.zero_grad()
        loss = criterion(model(x), y)
        loss.backward()
        optimizer.step()
# --- bad
import torch
from torch import nn

class Trainer:
    def __init__(self, loader):
        self.net = nn.LSTM(32, 32)
        self.opt = torch.optim.Adam(self.net.parameters())
        self.loader = loader

    def fit(self):
        for x, y in self.loader:
            out, _ = self.net(x)
            main = nn.functional.mse_loss(out, y)
            extra = out.pow(2).mean()
            main.backward(retain_graph=True)
            extra.backward(retain_graph=True)
            self.opt.step()
            self.opt.zero_grad()
# --- good
import torch
from torch import nn

class Trainer:
    def __init__(self, loader):
        self.net = nn.LSTM(32, 32)
        self.opt = torch.optim.Adam(self.net.parameters())
        self.loader = loader

    def fit(self):
        for x, y in self.loader:
            out, _ = self.net(x)
            main = nn.functional.mse_loss(out, y)
            extra = out.pow(2).mean()
            main.backward(retain_graph=True)
            extra.backward()
            self.opt.step()
            self.opt.zero_grad()
# --- silent
import torch

def train(net_g, net_d, opt_g, opt_d, loader, criterion):
    for x, y in loader:
        fake = net_g(x)
        d_loss = criterion(net_d(fake), y)
        d_loss.backward(retain_graph=True)
        opt_d.step()
        g_loss = criterion(net_d(fake), y)
        g_loss.backward()
        opt_g.step()
# --- silent
import torch

def sensitivities(model, x, steps):
    out = model(x)
    for step in range(steps):
        out[step].backward(retain_graph=True)
        print(x.grad)
# --- silent
import torch

def train(model, loader, criterion, keep):
    for x, y in loader:
        loss = criterion(model(x), y)
        loss.backward(retain_graph=keep)
# --- silent
import torch

def train(model, loader, criterion, optimizer):
    for x, y in loader:
        feats = model.encode(x)
        for head in model.heads:
            loss = criterion(head(feats), y)
            loss.backward(retain_graph=True)
        optimizer.step()
# --- silent
import torch

def step(model, criterion, x, y):
    loss = criterion(model(x), y)
    loss.backward(retain_graph=True)
    return loss
