# --- bad
import torch

def train(model, train_loader, optimizer, criterion):
    for x, y in train_loader:
        loss = criterion(model(x), y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
# --- good
import torch

def train(model, train_loader, optimizer, criterion):
    for x, y in train_loader:
        loss = criterion(model(x), y)
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()
# --- silent
import torch

def train(model, train_loader, optimizer, criterion):
    for x, y in train_loader:
        optimizer.zero_grad()
        loss = criterion(model(x), y)
        loss.backward()
        optimizer.step()
# --- silent
import torch

def train(g, d, train_loader, opt_g, opt_d):
    for x, _ in train_loader:
        opt_g.zero_grad()
        fake = g(x)
        d(fake).mean().backward()
        opt_g.step()
        opt_d.zero_grad()
        d(fake.detach()).mean().backward()
        opt_d.step()
