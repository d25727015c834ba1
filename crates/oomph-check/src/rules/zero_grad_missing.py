# --- bad
import torch

def train(model, train_loader, criterion):
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    for x, y in train_loader:
        loss = criterion(model(x), y)
        loss.backward()
        optimizer.step()
# --- good
import torch

def train(model, train_loader, criterion):
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    for x, y in train_loader:
        loss = criterion(model(x), y)
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()
# --- bad
import torch
from torch import nn, optim

net = nn.Linear(8, 2).cuda()
opt = optim.AdamW(net.parameters(), lr=1e-3)
for epoch in range(5):
    for i, (x, y) in enumerate(train_loader):
        loss = nn.functional.cross_entropy(net(x.cuda()), y.cuda())
        loss.backward()
        nn.utils.clip_grad_norm_(net.parameters(), 1.0)
        opt.step()
# --- good
import torch
from torch import nn, optim

net = nn.Linear(8, 2).cuda()
opt = optim.AdamW(net.parameters(), lr=1e-3)
for epoch in range(5):
    for i, (x, y) in enumerate(train_loader):
        opt.zero_grad()
        loss = nn.functional.cross_entropy(net(x.cuda()), y.cuda())
        loss.backward()
        nn.utils.clip_grad_norm_(net.parameters(), 1.0)
        opt.step()
# --- silent
import torch

def one_step(model, x):
    model(x).sum().backward()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    optimizer.step()

def try_all(kinds, x):
    for kind in kinds:
        model = make(kind)
        one_step(model, x)
# --- silent
import torch

def each(cases):
    for step in range(cases):
        model = torch.nn.Linear(8, 2)
        optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
        model(torch.zeros(1, 8)).sum().backward()
        optimizer.step()
# --- silent
import torch

class Trainer(Base):
    def run(self, train_loader):
        for x, y in train_loader:
            self.before_batch()
            self.model(x).sum().backward()
            self.optimizer.step()

    def before_batch(self):
        self.optimizer.zero_grad()
# --- silent
import torch

def train(model, train_loader, optimizer, criterion):
    for x, y in train_loader:
        for p in model.parameters():
            p.grad = None
        loss = criterion(model(x), y)
        loss.backward()
        optimizer.step()
# --- silent
import torch

def clear(optimizer):
    optimizer.zero_grad()

def train(model, train_loader, criterion):
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    for x, y in train_loader:
        clear(optimizer)
        loss = criterion(model(x), y)
        loss.backward()
        optimizer.step()
# --- silent
import torch

def train(model, train_loader, criterion):
    optimizer = torch.optim.LBFGS(model.parameters())
    for x, y in train_loader:
        def closure():
            optimizer.zero_grad()
            loss = criterion(model(x), y)
            loss.backward()
            return loss
        optimizer.step(closure)
# --- silent
import deepspeed

def train(model, train_loader, criterion):
    engine, optimizer, _, _ = deepspeed.initialize(model=model)
    for x, y in train_loader:
        loss = criterion(engine(x), y)
        engine.backward(loss)
        engine.step()
# --- silent
import torch
from mine import reset_gradients

def train(model, train_loader, criterion):
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    for x, y in train_loader:
        reset_gradients(model)
        loss = criterion(model(x), y)
        loss.backward()
        optimizer.step()
